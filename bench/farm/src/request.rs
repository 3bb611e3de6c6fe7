//! A minimal parser of HTTP/1.1 requests.

use memchr::memmem;

use crate::ledger::Validators;

#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) target: &'a str,
    pub(crate) validators: Validators<'a>,
    /// The client asks to close the connection.
    pub(crate) close: bool,
}

/// The length of the request's head, once it is complete.
pub(crate) fn head_length(bytes: &[u8]) -> Option<usize> {
    memmem::find(bytes, b"\r\n\r\n").map(|end| end + 4)
}

impl<'a> Request<'a> {
    pub(crate) fn parse(head: &'a [u8]) -> Option<Self> {
        let head = std::str::from_utf8(head).ok()?;
        let mut lines = head.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (_method, target, version) = (words.next()?, words.next()?, words.next()?);
        let mut request = Self { target, validators: Validators::default(), close: version != "HTTP/1.1" };
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = value.trim_ascii();
            if name.eq_ignore_ascii_case("if-none-match") {
                request.validators.etag = Some(value);
            } else if name.eq_ignore_ascii_case("if-modified-since") {
                request.validators.modified = Some(value);
            } else if name.eq_ignore_ascii_case("connection") {
                request.close |= value.eq_ignore_ascii_case("close");
            }
        }
        Some(request)
    }

    /// The number in `/feed/12.xml`, ignoring the query.
    pub(crate) fn feed(&self) -> Option<u32> {
        let path = self.target.split('?').next()?;
        path.strip_prefix("/feed/")?.strip_suffix(".xml")?.parse().ok()
    }
}
