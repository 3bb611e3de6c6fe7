//! Reads response bodies: counted, decoded and limited in size as they arrive.
//!
//! Decoding is done here rather than by reqwest, which hides how many bytes were received, passes on bodies that
//! are encoded twice without decoding them, and cannot tell a truncated stream from an invalid one. All decoders
//! write into one sink with a size limit, so that a decompression bomb costs no more than the limit.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use bytes::Bytes;
use flate2::{Decompress, FlushDecompress, Status};
use gleaner_core::classify::Fault;
use gleaner_core::time::Span;
use reqwest::header::{CONTENT_ENCODING, HeaderMap};
use zstd::stream::write::Decoder as ZstdDecoder;

use super::fault;
use crate::truncate::truncate_chars;

/// The `Accept-Encoding` header: the encodings that can be decoded.
pub(super) const ACCEPTED: &str = "gzip, br, zstd, deflate";

/// RFC 9659: the maximum zstd window on the web, 8 MiB.
const ZSTD_WINDOW_LOG: u32 = 23;

/// A decoded body, and its length as received.
pub(super) struct Body {
    pub(super) bytes: Bytes,
    pub(super) wire_bytes: u64,
}

/// Reads a whole body of at most `cap` bytes, before and after decoding.
pub(super) async fn read(
    mut response: reqwest::Response,
    cap: u64,
    connect_limit: Span,
) -> Result<Body, Fault> {
    let encoding = Encoding::from_headers(response.headers())?;
    let too_large = || Fault::TooLarge { what: "body", limit: cap };
    if response.content_length().is_some_and(|length| length > cap) {
        return Err(too_large());
    }
    let mut decoder = None;
    let mut wire_bytes = 0_u64;
    while let Some(chunk) =
        response.chunk().await.map_err(|error| fault::from_reqwest(&error, connect_limit))?
    {
        wire_bytes += chunk.len() as u64;
        // The encoded body has the same limit: a stream can continue forever without producing output.
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
    // An empty body is valid in every encoding.
    let bytes = match decoder {
        None => Vec::new(),
        Some(decoder) => decoder.finish().map_err(|error| encoding.fault(&error, cap))?,
    };
    Ok(Body { bytes: bytes.into(), wire_bytes })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    None,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Encoding {
    /// The encoding of a response: one that was requested, or none. Anything else is refused, including two
    /// encodings at once, since the request allowed neither.
    fn from_headers(headers: &HeaderMap) -> Result<Self, Fault> {
        let mut found = Self::None;
        for value in headers.get_all(CONTENT_ENCODING) {
            let Ok(names) = value.to_str() else {
                return Err(Fault::Unreadable("the Content-Encoding header is not readable".to_owned()));
            };
            for name in names.split(',').map(str::trim) {
                let next = match name.to_ascii_lowercase().as_str() {
                    "" | "identity" => continue,
                    "gzip" | "x-gzip" => Self::Gzip,
                    "deflate" => Self::Deflate,
                    "br" => Self::Brotli,
                    "zstd" => Self::Zstd,
                    other => {
                        let name = truncate_chars(other, 32);
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

    /// Maps a decoder's error. A stream that ends early was truncated, even if the transport reports it complete: a
    /// server that sends no length has no other way to signal it.
    fn fault(self, error: &io::Error, cap: u64) -> Fault {
        if error.get_ref().is_some_and(|inner| inner.is::<SinkFull>()) {
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
    // Both are large, and rare compared to gzip.
    Brotli(Box<DecompressorWriter<Sink>>),
    Zstd(Box<ZstdDecoder<'static, Sink>>),
}

impl Decoder {
    fn new(encoding: Encoding, first: u8, cap: u64) -> io::Result<Self> {
        let sink = Sink { bytes: Vec::new(), cap: usize::try_from(cap).unwrap_or(usize::MAX) };
        Ok(match encoding {
            Encoding::None => Self::Plain(sink),
            Encoding::Gzip => Self::Inflate(Inflate::new(Format::Gzip, sink)),
            // "deflate" means zlib format, but some servers send raw deflate. The first byte of a zlib stream ends
            // in 8, which a raw stream practically never does.
            Encoding::Deflate if first & 0x0f == 8 => Self::Inflate(Inflate::new(Format::Zlib, sink)),
            Encoding::Deflate => Self::Inflate(Inflate::new(Format::Raw, sink)),
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
            Self::Inflate(inflate) if inflate.has_ended => inflate.sink.bytes,
            Self::Inflate(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Self::Brotli(mut decoder) => {
                // The decoder has only one error for an incomplete stream.
                decoder.close().map_err(|error| match error.get_ref() {
                    Some(inner) if inner.is::<SinkFull>() => error,
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
    Raw,
}

/// A deflate stream in any format, which knows whether it has ended.
struct Inflate {
    format: Format,
    stream: Decompress,
    has_ended: bool,
    sink: Sink,
}

impl Inflate {
    fn new(format: Format, sink: Sink) -> Self {
        Self { format, stream: Self::stream(format), has_ended: false, sink }
    }

    fn stream(format: Format) -> Decompress {
        match format {
            Format::Gzip => Decompress::new_gzip(15),
            Format::Zlib => Decompress::new(true),
            Format::Raw => Decompress::new(false),
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mut out = [0_u8; 16 * 1024];
        loop {
            if self.has_ended {
                // A gzip file may contain several streams; anything else after the end is padding.
                if self.format != Format::Gzip || bytes.first() != Some(&0x1f) {
                    return Ok(());
                }
                self.stream = Self::stream(self.format);
                self.has_ended = false;
            }
            let (taken, made) = (self.stream.total_in(), self.stream.total_out());
            let status = self.stream.decompress(bytes, &mut out, FlushDecompress::None)?;
            // Both differences are at most the lengths of the two slices.
            let (taken, made) = (self.stream.total_in() - taken, self.stream.total_out() - made);
            self.sink.write_all(&out[..made as usize])?;
            bytes = &bytes[taken as usize..];
            self.has_ended = status == Status::StreamEnd;
            if !self.has_ended && (made as usize) < out.len() && (bytes.is_empty() || taken == 0) {
                return Ok(());
            }
        }
    }
}

/// Collects bytes up to a limit.
struct Sink {
    bytes: Vec<u8>,
    cap: usize,
}

/// The error of a [`Sink`] that has reached its limit.
#[derive(Debug, thiserror::Error)]
#[error("too much")]
struct SinkFull;

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.cap - self.bytes.len() {
            return Err(io::Error::other(SinkFull));
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
