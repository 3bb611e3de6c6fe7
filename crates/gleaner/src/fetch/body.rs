//! Bodies: read, counted and decoded as they come, and no further than their cap.
//!
//! Decoded here and not by the HTTP stack, which hides how many bytes came over the wire, passes on undecoded what
//! is encoded twice, and cannot tell a stream that breaks off from one that is garbled. Every decoder writes into
//! one sink that refuses what is too much, so that a bomb costs its cap and no more.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};
use gleaner_core::classify::Fault;
use gleaner_core::time::Span;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use zstd::stream::write::Decoder as ZstdDecoder;

use super::fault;

/// What we can decode, as `Accept-Encoding` says it.
pub(super) const ACCEPTED: &str = "gzip, br, zstd, deflate";

/// RFC 9659: what a zstd window on the web may need at most, 8 MiB.
const ZSTD_WINDOW_LOG: u32 = 23;

/// A body as it was before it was encoded, and its length as it came.
pub(super) struct Body {
    pub(super) bytes: Bytes,
    pub(super) wire_bytes: u64,
}

/// Reads a whole body of at most `cap` bytes, encoded and decoded.
pub(super) async fn read(
    mut response: reqwest::Response,
    cap: u64,
    connect_limit: Span,
) -> Result<Body, Fault> {
    let encoding = Encoding::of(response.headers())?;
    let too_large = || Fault::TooLarge { what: "body", limit: cap };
    if response.content_length().is_some_and(|length| length > cap) {
        return Err(too_large());
    }
    let mut decoder = None;
    let mut wire_bytes = 0_u64;
    while let Some(chunk) = response.chunk().await.map_err(|error| fault::of(&error, connect_limit))? {
        wire_bytes += chunk.len() as u64;
        // The encoded body has the same cap: a stream can go on for ever without a byte coming out.
        if wire_bytes > cap {
            return Err(too_large());
        }
        let Some(first) = chunk.first() else { continue };
        if decoder.is_none() {
            decoder = Some(Decoder::new(encoding, *first, cap).map_err(|error| encoding.fault(&error, cap))?);
        }
        let Some(decoder) = &mut decoder else { continue };
        decoder.write(&chunk).map_err(|error| encoding.fault(&error, cap))?;
    }
    // No bytes at all are an empty body in every encoding.
    let bytes = match decoder {
        None => Vec::new(),
        Some(decoder) => decoder.finish().map_err(|error| encoding.fault(&error, cap))?,
    };
    Ok(Body { bytes: bytes.into(), wire_bytes })
}

/// How a body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    None,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Encoding {
    /// One encoding that we asked for, or none. All else is refused, two at once as well: nobody was asked for that,
    /// and a document that nothing here can read is what `parse_error` means.
    fn of(headers: &HeaderMap) -> Result<Self, Fault> {
        let mut found = Self::None;
        for value in headers.get_all(CONTENT_ENCODING) {
            let Ok(names) = value.to_str() else {
                return Err(Fault::Unreadable("the body has an encoding without a name".to_owned()));
            };
            for name in names.split(',').map(str::trim) {
                let next = match name.to_ascii_lowercase().as_str() {
                    "" | "identity" => continue,
                    "gzip" | "x-gzip" => Self::Gzip,
                    "deflate" => Self::Deflate,
                    "br" => Self::Brotli,
                    "zstd" => Self::Zstd,
                    other => {
                        let name: String = other.chars().take(32).collect();
                        return Err(Fault::Unreadable(format!("the body has the unknown encoding '{name}'")));
                    }
                };
                if found != Self::None {
                    return Err(Fault::Unreadable("the body is encoded more than once".to_owned()));
                }
                found = next;
            }
        }
        Ok(found)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::None => "plain",
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "brotli",
            Self::Zstd => "zstd",
        }
    }

    /// What a decoder's error means. A stream that ends early arrived cut short, even where the transport says
    /// that it is complete: servers without a length have no other way to tell.
    fn fault(self, error: &io::Error, cap: u64) -> Fault {
        if error.get_ref().is_some_and(|inner| inner.is::<Full>()) {
            return Fault::TooLarge { what: "body", limit: cap };
        }
        let name = self.name();
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Fault::CutShort(format!("the {name} stream ends early")),
            _ => Fault::Unreadable(format!("the body is not valid {name}")),
        }
    }
}

enum Decoder {
    Plain(Sink),
    Inflate(Inflate),
    // Both are large, and rare beside gzip.
    Brotli(Box<DecompressorWriter<Sink>>),
    Zstd(Box<ZstdDecoder<'static, Sink>>),
}

impl Decoder {
    fn new(encoding: Encoding, first: u8, cap: u64) -> io::Result<Self> {
        let sink = Sink { bytes: Vec::new(), cap: usize::try_from(cap).unwrap_or(usize::MAX) };
        Ok(match encoding {
            Encoding::None => Self::Plain(sink),
            Encoding::Gzip => Self::Inflate(Inflate::new(Format::Gzip, sink)),
            // "deflate" means zlib's wrapping, but some servers send it bare. A wrapped stream's first byte ends
            // in 8; a bare one would have to begin with an odd stored block to do so.
            Encoding::Deflate if first & 0x0f == 8 => Self::Inflate(Inflate::new(Format::Zlib, sink)),
            Encoding::Deflate => Self::Inflate(Inflate::new(Format::Bare, sink)),
            Encoding::Brotli => Self::Brotli(Box::new(DecompressorWriter::new(sink, 16 * 1024))),
            Encoding::Zstd => {
                let mut decoder = ZstdDecoder::new(sink)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Self::Zstd(Box::new(decoder))
            }
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Plain(sink) => sink.write_all(bytes),
            Self::Inflate(inflate) => inflate.write(bytes),
            Self::Brotli(decoder) => decoder.write_all(bytes),
            Self::Zstd(decoder) => decoder.write_all(bytes),
        }
    }

    fn finish(self) -> io::Result<Vec<u8>> {
        Ok(match self {
            Self::Plain(sink) => sink.bytes,
            Self::Inflate(inflate) if inflate.ended => inflate.sink.bytes,
            Self::Inflate(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Self::Brotli(mut decoder) => {
                // It has only one error for a stream that is not over.
                decoder.close().map_err(|error| match error.get_ref() {
                    Some(inner) if inner.is::<Full>() => error,
                    _ => io::ErrorKind::UnexpectedEof.into(),
                })?;
                std::mem::take(&mut decoder.get_mut().bytes)
            }
            Self::Zstd(decoder) => decoder.finish()?.bytes,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Gzip,
    Zlib,
    Bare,
}

/// A deflate stream in any wrapping, which knows whether it has ended.
struct Inflate {
    format: Format,
    stream: Decompress,
    ended: bool,
    sink: Sink,
}

impl Inflate {
    fn new(format: Format, sink: Sink) -> Self {
        Self { format, stream: Self::stream(format), ended: false, sink }
    }

    fn stream(format: Format) -> Decompress {
        match format {
            Format::Gzip => Decompress::new_gzip(15),
            Format::Zlib => Decompress::new(true),
            Format::Bare => Decompress::new(false),
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mut out = [0_u8; 16 * 1024];
        loop {
            if self.ended {
                // A file may be several gzip streams in a row; anything else after the end is padding.
                if self.format != Format::Gzip || bytes.first() != Some(&0x1f) {
                    return Ok(());
                }
                self.stream = Self::stream(self.format);
                self.ended = false;
            }
            let (taken, made) = (self.stream.total_in(), self.stream.total_out());
            let status = self.stream.decompress(bytes, &mut out, FlushDecompress::None)?;
            // Both differences are bounded by the two slices' lengths.
            let (taken, made) = (self.stream.total_in() - taken, self.stream.total_out() - made);
            self.sink.write_all(&out[..made as usize])?;
            bytes = &bytes[taken as usize..];
            self.ended = status == Status::StreamEnd;
            if !self.ended && (made as usize) < out.len() && (bytes.is_empty() || taken == 0) {
                return Ok(());
            }
        }
    }
}

/// Takes bytes up to a cap.
struct Sink {
    bytes: Vec<u8>,
    cap: usize,
}

/// The error of a [`Sink`] that is asked to take more than its cap.
#[derive(Debug, thiserror::Error)]
#[error("too much")]
struct Full;

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.cap - self.bytes.len() {
            return Err(io::Error::other(Full));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
