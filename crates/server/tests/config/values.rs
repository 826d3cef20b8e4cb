//! Valid files.

use std::num::NonZeroU32;
use std::time::Duration;

use tollgate::layers::{Distribution, OnFailure};
use tollgate::{Enforce, Name, WhenFull};
use tollgate_http::Dialect;
use tollgate_server::{Config, HttpLimits, Listen, OverrideLimits, RespLimits};

use crate::{DESIGN, errors, lines};

fn at(address: &str) -> Listen {
    Listen::At(address.parse().unwrap())
}

fn parse(text: &str) -> Config {
    Config::parse(text).map_err(|errors| lines(&errors)).unwrap()
}

#[test]
fn an_empty_file_is_the_default() {
    let nothing = "[server]\n[server.tls]\n[server.auth]\n[server.http_limits]\n\
                   [server.resp_limits]\n[store]\n[policy]\n[lists]\n";
    for text in ["", "\n", "# nothing\n", "\u{feff}", nothing, "rule = []\nlists.allow = []"] {
        assert_eq!(Config::parse(text), Ok(Config::default()), "{text:?}");
    }
    let Config { server, store, policies, unsupported, .. } = Config::default();
    assert_eq!((server.http, server.resp), (at("127.0.0.1:8080"), at("127.0.0.1:6380")));
    assert_eq!((server.grpc, server.threads), (Listen::Off, None));
    assert_eq!(server.http_limits, HttpLimits::default());
    assert_eq!(server.resp_limits, RespLimits::default());
    assert_eq!((store.url.as_str(), store.prefix, store.max_keys), ("memory:", None, None));
    assert_eq!(store.when_full, WhenFull::Deny);
    assert_eq!((store.timeout, store.nodes), (Duration::from_millis(20), None));
    assert_eq!(store.layer_memory, 64 << 20);
    assert!(policies.is_empty() && unsupported.is_empty());
}

#[test]
fn the_example_of_the_design_is_valid() {
    let config = parse(DESIGN);
    assert_eq!(config.server.http, at("127.0.0.1:8080"));
    assert_eq!(config.store.prefix.as_deref(), Some("tg"));
    assert_eq!(config.store.max_keys.map(usize::from), Some(10_000_000));
    assert_eq!(config.store.max_memory, Some(1 << 30));
    assert_eq!(config.store.timeout, Duration::from_millis(20));
    let [login, api] = config.policies.as_slice() else { panic!("two policies") };
    assert_eq!((login.on_failure, api.on_failure), (OnFailure::Deny, OnFailure::Allow));
    assert_eq!(api.distribution, Distribution::Strict);
    assert_eq!((login.max_keys, api.max_keys.map(usize::from)), (None, Some(1_000_000)));
    assert_eq!((login.policy.name().as_str(), login.policy.limits().len()), ("login", 2));
    assert_eq!((login.headers, login.enforce), (Dialect::Ietf, Enforce::On));
    assert_eq!(api.candidate, ["gcra 50/s burst 100".parse().unwrap()]);
    let [scaled, own] = api.overrides.as_slice() else { panic!("two overrides") };
    // No limit counts per user, so this is the nameless key.
    assert_eq!((&scaled.subject, &*scaled.key), (&None, b"user=42".as_slice()));
    assert_eq!(scaled.limits, OverrideLimits::Factor("0.1".parse().unwrap()));
    let lines = ["gcra 1000/s", "unlimited", "unlimited"].map(|line| line.parse().unwrap());
    assert_eq!(own.limits, OverrideLimits::Own(lines.into()));
}

#[test]
fn unsupported_settings_are_reported() {
    let expected = "4:15: server.ipv6_prefix is not supported yet\n\
                    28:1: rule is not supported yet\n\
                    33:2: lists is not supported yet";
    assert_eq!(lines(&parse(DESIGN).unsupported), expected);
    let rest = "[server]\ngrpc = \"127.0.0.1:8081\"\n\
                tls = { cert = \"a\", key = \"b\", client_ca = \"c\" }\n\
                auth = { token_file = \"a\", admin_token_file = \"b\" }\n";
    let expected = "2:8: server.grpc is not supported yet\n\
                    3:1: server.tls is not supported yet\n\
                    4:1: server.auth is not supported yet";
    let config = parse(rest);
    assert_eq!(lines(&config.unsupported), expected);
    assert_eq!(config.server.grpc, at("127.0.0.1:8081"));
}

#[test]
fn trusted_proxies_are_parsed() {
    let proxies = parse(DESIGN).server.trusted_proxies;
    assert_eq!(proxies, ["10.0.0.0/8".parse().unwrap()]);
}

#[test]
fn server_settings_are_parsed() {
    let server = parse(
        "[server]\nhttp = \"[::1]:80\"\nresp = 'off'\ngrpc = \"off\"\nthreads = 0x10\n\
         [server.http_limits]\nheaders = 128\nhead_bytes = 1\nbody_bytes = 67_108_864\n\
         batch = 2\nmax_pending_bytes = 4\nstreams = 5\ntimeout = \"500ms\"\n\
         idle = \"24h\"\nconnections = 6\n\
         [server.resp_limits]\nargs = 1\narg_bytes = 2\ncommand_bytes = 3\n\
         transaction_bytes = 4\npipeline = 5\nmax_pending_bytes = 6\ntimeout = \"2m\"\n\
         connections = 7\n",
    )
    .server;
    assert_eq!((server.http, server.resp, server.grpc), (at("[::1]:80"), Listen::Off, Listen::Off));
    assert_eq!(server.threads.map(usize::from), Some(16));
    let HttpLimits { headers, head_bytes, body_bytes, batch, .. } = server.http_limits;
    assert_eq!([headers, head_bytes, body_bytes, batch], [128, 1, 67_108_864, 2]);
    let HttpLimits { max_pending_bytes, streams, timeout, idle, connections, .. } =
        server.http_limits;
    assert_eq!((max_pending_bytes, streams, connections), (4, 5, 6));
    assert_eq!(timeout, Duration::from_millis(500));
    assert_eq!(idle, Duration::from_secs(86_400));
    let RespLimits { args, arg_bytes, command_bytes, transaction_bytes, .. } = server.resp_limits;
    assert_eq!([args, arg_bytes, command_bytes, transaction_bytes], [1, 2, 3, 4]);
    let RespLimits { pipeline, max_pending_bytes, timeout, connections, .. } = server.resp_limits;
    assert_eq!([pipeline, max_pending_bytes, connections], [5, 6, 7]);
    assert_eq!(timeout, Duration::from_secs(120));
}

/// Port 0 lets the system choose, so several protocols may have it.
#[test]
fn addresses_differ_unless_the_system_chooses() {
    let any = "[server]\nhttp = \"127.0.0.1:0\"\nresp = \"127.0.0.1:0\"\n";
    assert_eq!(errors(any), "");
}

#[test]
fn store_settings_are_parsed() {
    for (url, is_remote) in [
        ("memory:", false),
        ("memory", false),
        ("redis://me:secret@h:1/2", true),
        ("rediss://h", true),
        ("redis+cluster://a:1,b:2", true),
        ("redis+sentinel://a:1,b:2/main", true),
    ] {
        let store = parse(&format!("[store]\nurl = \"{url}\"\nwhen_full = \"allow\"")).store;
        assert_eq!(store.url, if is_remote { url } else { "memory:" });
        assert_eq!((store.is_remote(), store.when_full), (is_remote, WhenFull::Allow));
        assert!(!format!("{store:?}").contains("secret"));
    }
}

#[test]
fn layer_settings_are_parsed() {
    let text = "[store]\ntimeout = \"1s\"\nnodes = 10_000\nlayer_memory = \"1GiB\"";
    let store = parse(text).store;
    assert_eq!((store.timeout, store.nodes), (Duration::from_secs(1), NonZeroU32::new(10_000)));
    assert_eq!(store.layer_memory, 1 << 30);
}

#[test]
fn failure_modes_are_parsed() {
    for mode in OnFailure::ALL {
        let text = format!("[policy.a]\nlimits = [\"gcra 1/s\"]\non_failure = \"{mode}\"");
        let config = parse(&text);
        assert_eq!(config.policies[0].on_failure, mode);
        assert!(config.unsupported.is_empty());
    }
}

#[test]
fn policies_are_parsed_and_keep_their_order() {
    let config = parse(
        "[policy.z]\nlimits = [\"gcra 1/s\"]\nenforce = \"25%\"\nheaders = \"none\"\n\
         [policy.\"a.b\"]\nlimits = [\"unlimited\", \"gcra 1/s per all\"]\nenforce = \"silent\"\n\
         candidate = [\"gcra 1/s per all\", \"gcra 1/s\"]\n\
         [policy.default]\nlimits = ['gcra 1/s']\ncandidate = []\noverrides = []\n",
    );
    let names: Vec<&str> = config.policies.iter().map(|all| all.policy.name().as_str()).collect();
    assert_eq!(names, ["z", "a.b", "default"]);
    let [z, dotted, plain] = config.policies.as_slice() else { panic!("three policies") };
    assert_eq!((z.headers, z.enforce), (Dialect::None, "25%".parse().unwrap()));
    assert_eq!((dotted.enforce, dotted.candidate.len()), (Enforce::Silent, 2));
    assert_eq!(*plain, tollgate_server::PolicyConfig::new(plain.policy.clone()));
}

/// Factors are parsed from their text, as a float could be another number.
#[test]
fn factors_are_exact() {
    for (written, factor) in [
        ("0.1", "0.1"),
        ("1", "1"),
        ("0", "0"),
        ("0.0", "0"),
        ("1_000.5", "1000.5"),
        ("999999.999999999", "999999.999999999"),
        ("\"0.3\"", "0.3"),
        ("0.300000001", "0.300000001"),
    ] {
        let text = format!(
            "[policy.a]\nlimits = [\"gcra 1000000/s\"]\n\
             overrides = [{{ key = \"k\", factor = {written} }}]"
        );
        let config = parse(&text);
        let expected = OverrideLimits::Factor(factor.parse().unwrap());
        assert_eq!(config.policies[0].overrides[0].limits, expected, "{written}");
    }
}

#[test]
fn overrides_name_subjects_that_the_policy_counts() {
    let config = parse(
        "[policy.a]\nlimits = [\"gcra 1/week burst 1\", \"gcra 1/s per user\"]\noverrides = [\n\
         { key = \"user=42\", factor = 10000 },  # too much for the limit that does not count it\n\
         { key = \"user==\", factor = 1 },\n{ key = \"org=1\", factor = 1 },\n\
         { key = \"42\", factor = 1 },\n{ key = \"=\", factor = 1 },\n]",
    );
    let all: Vec<(Option<&str>, &[u8])> = config.policies[0]
        .overrides
        .iter()
        .map(|one| (one.subject.as_ref().map(Name::as_str), &*one.key))
        .collect();
    let user = Some("user");
    let expected: [(_, &[u8]); 5] =
        [(user, b"42"), (user, b"="), (None, b"org=1"), (None, b"42"), (None, b"=")];
    assert_eq!(all, expected);
}

#[test]
fn listen_parses_an_address_or_off() {
    assert_eq!("off".parse(), Ok(Listen::Off));
    assert_eq!("127.0.0.1:8080".parse(), Ok(at("127.0.0.1:8080")));
    assert_eq!(Listen::Off.address(), None);
    for text in ["", "OFF", "on", "8080", ":8080", "localhost:8080", "127.0.0.1", "::1:80"] {
        let error = text.parse::<Listen>().unwrap_err().to_string();
        assert_eq!(error, "expected an address with a port, such as 127.0.0.1:8080, or off");
    }
    for listen in [Listen::Off, at("[::1]:1")] {
        assert_eq!(listen.to_string().parse(), Ok(listen));
    }
}
