//! Moves framed messages between named nodes. So far: the frame codec, which every transport shares.
//!
//! | module | holds |
//! |---|---|
//! | `frame` | [`Frame`]: a kind, a MessagePack header and raw parts; [`encode`] |
//! | `decoder` | [`Decoder`]: frames out of bytes that arrive in any pieces |
//! | `limits` | [`Limits`]: what a frame may hold, checked before anything is allocated |
//! | `head` | the fixed head of a frame: 16 bytes, little-endian |
//! | `frame_error` | [`FrameError`]: what is wrong with a frame |
//! | `header` | [`header_of`] and [`read_header`]: typed headers as named MessagePack maps |
//! | `nesting` | bounds how deep a MessagePack value nests, before it is read |
//!
//! A frame on the wire, all numbers little-endian:
//!
//! | bytes | field |
//! |---|---|
//! | 4 | magic, `DAE1` |
//! | 2 | protocol version |
//! | 2 | kind |
//! | 4 | length of the header in bytes |
//! | 2 | number of parts |
//! | 2 | reserved, 0 |
//! | 8 each | length of each part in bytes |
//! | | the header, then the parts |

mod decoder;
mod frame;
mod frame_error;
mod head;
mod header;
mod limits;
mod nesting;

pub use decoder::Decoder;
pub use frame::{Frame, encode};
pub use frame_error::FrameError;
pub use head::PROTOCOL_VERSION;
pub use header::{HeaderError, MAX_HEADER_DEPTH, header_of, read_header};
pub use limits::Limits;
