//! The shortest example: `cargo run --example first`.

use tollgate::Limiter;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Two per second on average, three at one instant.
    let limiter: Limiter = "gcra 2/s burst 3".parse()?;

    for request in 1..=5 {
        let decision = limiter.check("203.0.113.9")?;
        match decision.retry_after {
            _ if decision.allowed => println!("request {request}: allowed"),
            Some(wait) => println!("request {request}: denied, try again in {wait}"),
            None => println!("request {request}: can never be allowed"),
        }
    }
    Ok(())
}
