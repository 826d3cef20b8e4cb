//! Closing a connection while the client may still be sending.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long, and how much, to keep reading.
const TIMEOUT: Duration = Duration::from_secs(1);
const BYTES: u64 = 1024 * 1024;

/// Ends our side of the connection and reads on for a while: if it were closed with unread bytes, the kernel
/// would reset it, and the client could lose our last response (RFC 9112, section 9.6).
pub(crate) async fn linger(stream: &mut TcpStream) {
    let reading = async {
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(BYTES), &mut tokio::io::sink()).await
    };
    // The connection is closed however this ends.
    let _ = timeout(TIMEOUT, reading).await;
}
