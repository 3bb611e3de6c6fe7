//! Decoder tests: input in pieces of any size, and truncated anywhere.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use reqwest::header::HeaderValue;

use super::*;

const TEXT: &[u8] = b"<rss><channel><title>A title, and a title, and a title</title></channel></rss>";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    brotli::CompressorWriter::new(&mut encoded, 4096, 5, 22).write_all(bytes).unwrap();
    encoded
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

fn all() -> [(Encoding, Vec<u8>); 5] {
    [
        (Encoding::Gzip, gzip(TEXT)),
        (Encoding::Deflate, zlib(TEXT)),
        (Encoding::Deflate, raw_deflate(TEXT)),
        (Encoding::Brotli, brotli(TEXT)),
        (Encoding::Zstd, zstd(TEXT)),
    ]
}

/// Decodes in pieces of `size`.
fn decode(encoding: Encoding, encoded: &[u8], size: usize, cap: u64) -> Result<Vec<u8>, Fault> {
    let run = || {
        let mut decoder = Decoder::new(encoding, encoded[0], cap)?;
        encoded.chunks(size).try_for_each(|chunk| decoder.write(chunk))?;
        decoder.finish()
    };
    run().map_err(|error: io::Error| encoding.fault(&error, cap))
}

#[test]
fn bodies_decode_in_pieces_of_any_size() {
    for (encoding, encoded) in all() {
        for size in [1, 2, 3, 7, 1000] {
            assert_eq!(decode(encoding, &encoded, size, 1000).as_deref(), Ok(TEXT), "{encoding:?} by {size}");
        }
    }
}

#[test]
fn truncation_anywhere_is_detected() {
    for (encoding, encoded) in all() {
        for length in 1..encoded.len() {
            let end = decode(encoding, &encoded[..length], 5, 1000);
            assert!(matches!(end, Err(Fault::CutShort(_))), "{encoding:?} cut at {length}: {end:?}");
        }
    }
}

#[test]
fn garbage_is_unreadable() {
    for encoding in [Encoding::Gzip, Encoding::Deflate, Encoding::Brotli, Encoding::Zstd] {
        let end =
            decode(encoding, b"\xff<rss>this is not encoded at all, whatever the header says</rss>", 9, 1000);
        assert_eq!(end, Err(Fault::Unreadable(format!("the body is not valid {}", encoding.name()))));
    }
    let mut broken = gzip(TEXT);
    let crc = broken.len() - 8;
    broken[crc] ^= 1;
    assert_eq!(
        decode(Encoding::Gzip, &broken, 9, 1000),
        Err(Fault::Unreadable("the body is not valid gzip".into()))
    );
}

#[test]
fn the_size_limit_is_exact() {
    for (encoding, encoded) in all() {
        let cap = TEXT.len() as u64;
        assert_eq!(decode(encoding, &encoded, 1000, cap).as_deref(), Ok(TEXT), "{encoding:?}");
        let over = Fault::TooLarge { what: "body", limit: cap - 1 };
        assert_eq!(decode(encoding, &encoded, 1000, cap - 1), Err(over), "{encoding:?}");
    }
}

#[test]
fn gzip_streams_are_concatenated_and_padding_is_ignored() {
    let twice = [gzip(b"one "), gzip(b"two")].concat();
    let padded = [gzip(b"one"), vec![0; 512]].concat();
    for size in [1, 5, 10_000] {
        assert_eq!(decode(Encoding::Gzip, &twice, size, 100).as_deref(), Ok(&b"one two"[..]), "by {size}");
        assert_eq!(decode(Encoding::Gzip, &padded, size, 100).as_deref(), Ok(&b"one"[..]), "by {size}");
    }
}

#[test]
fn a_too_large_zstd_window_is_refused() {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.window_log(27).unwrap();
    encoder.write_all(&vec![b'x'; 1 << 20]).unwrap();
    let encoded = encoder.finish().unwrap();
    let end = decode(Encoding::Zstd, &encoded, 1000, 1 << 30);
    assert_eq!(end, Err(Fault::Unreadable("the body is not valid zstd".into())));
}

#[test]
fn at_most_one_known_encoding_is_accepted() {
    let check = |values: &[&'static str], expected: Result<Encoding, &str>| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(CONTENT_ENCODING, HeaderValue::from_static(value));
        }
        let found = Encoding::from_headers(&headers).map_err(|fault| fault.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{values:?}");
    };
    check(&[], Ok(Encoding::None));
    check(&["identity"], Ok(Encoding::None));
    check(&[""], Ok(Encoding::None));
    check(&["GZIP"], Ok(Encoding::Gzip));
    check(&["x-gzip"], Ok(Encoding::Gzip));
    check(&["identity, br"], Ok(Encoding::Brotli));
    check(&["gzip, gzip"], Err("the body is encoded more than once"));
    check(&["gzip", "br"], Err("the body is encoded more than once"));
    check(&["compress"], Err("the body has the unknown encoding 'compress'"));
    check(&["utf-8"], Err("the body has the unknown encoding 'utf-8'"));
}
