//! Limits that many processes share: `cargo run --example many_processes`.
//!
//! The store is a URL. Without one the program counts in its own memory; with Redis or Valkey, any number
//! of its processes count together:
//!
//! ```sh
//! export TOLLGATE_STORE=redis://127.0.0.1:6379
//! cargo run --features redis --example many_processes &
//! cargo run --features redis --example many_processes
//! ```

use std::env;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use tollgate::{AnyStore, Error, Limiter};

/// How long a report waits for the database before it gives up.
const WAIT_TIMEOUT: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = env::var("TOLLGATE_STORE").unwrap_or_else(|_| "memory:".to_owned());
    let store = tollgate::open(&url).await?;

    let login =
        store.limiter("login", ["gcra 1/s burst 5 per ip", "fixed-window 100/day per user"])?;
    for _ in 0..7 {
        log_in(&login, Ipv4Addr::new(203, 0, 113, 9).into(), "alice").await?;
    }

    let database = store.limiter("database", ["concurrency 20 ttl 30s"])?;
    report(&database).await?;
    Ok(())
}

/// Two limits, all or nothing: a denied attempt counts for neither the address nor the user.
async fn log_in(login: &Limiter<AnyStore>, ip: IpAddr, user: &str) -> Result<(), Error> {
    let decision = login.subject("ip", ip).subject("user", user).check().await?;
    match decision.into_result() {
        Ok(_) => println!("{user} from {ip} may try a password"),
        Err(denied) => println!("{user} from {ip}: 429, {denied}"),
    }
    Ok(())
}

/// At most 20 reports use the database at once, in all processes together.
async fn report(database: &Limiter<AnyStore>) -> Result<(), Error> {
    let lease = database.key("reports").lease_within(WAIT_TIMEOUT).await?;
    println!("report: running, {} more could", lease.decision().remaining.unwrap_or_default());
    // Dropping the lease releases it, too; this waits until it has happened, and returns errors.
    let released = lease.release().await?;
    println!("report: done, {} could run now", released.remaining.unwrap_or_default());
    Ok(())
}
