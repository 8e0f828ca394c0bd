//! Requests and responses of a byte over the loopback device, as in netperf's TCP_RR.

use super::{Task, rounds};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Instant;

/// A server and a client. The client counts.
pub(super) fn pair(count: Option<u64>) -> io::Result<Vec<Task>> {
    let why = |error: io::Error| io::Error::other(format!("TCP on the loopback device: {error}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(why)?;
    let mut client = TcpStream::connect(listener.local_addr()?).map_err(why)?;
    let (mut server, _) = listener.accept().map_err(why)?;
    [&client, &server].into_iter().try_for_each(|side| side.set_nodelay(true))?;
    let serve: Task = Box::new(move |_| {
        for _ in rounds(count) {
            server.read_exact(&mut [0])?;
            server.write_all(&[0])?;
        }
        Ok(())
    });
    let ask: Task = Box::new(move |tally| {
        for _ in rounds(count) {
            let began = Instant::now();
            client.write_all(&[0])?;
            client.read_exact(&mut [0])?;
            tally.done_since(began);
        }
        Ok(())
    });
    Ok(vec![serve, ask])
}
