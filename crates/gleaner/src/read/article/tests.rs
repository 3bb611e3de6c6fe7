//! Articles of pages written for the purpose.
