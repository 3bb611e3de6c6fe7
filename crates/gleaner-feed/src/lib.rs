//! Reads feeds: bytes in, feed out, whatever the damage.
