//! Requests and responses of a byte over the loopback device, as in netperf's TCP_RR.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};

/// Runs so many pairs.
pub fn run(pairs: usize, rounds: usize) -> io::Result<()> {
    let mut children = Vec::new();
    for _ in 0..pairs {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        children.push(crate::fork::child(|| {
            let (mut peer, _) = listener.accept()?;
            peer.set_nodelay(true)?;
            for _ in 0..rounds {
                peer.read_exact(&mut [0])?;
                peer.write_all(&[0])?;
            }
            Ok(())
        })?);
        children.push(crate::fork::child(|| {
            let mut peer = TcpStream::connect(address)?;
            peer.set_nodelay(true)?;
            for _ in 0..rounds {
                peer.write_all(&[0])?;
                peer.read_exact(&mut [0])?;
            }
            Ok(())
        })?);
    }
    crate::fork::wait(children)
}
