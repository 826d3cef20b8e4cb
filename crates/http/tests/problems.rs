//! Problem bodies, as a client reads them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use proptest::prelude::*;
use serde_json::{Value, json};
use tollgate_http::Problem;

fn read(problem: &Problem<'_>) -> Value {
    let mut body = String::new();
    problem.write_to(&mut body);
    serde_json::from_str(&body).unwrap()
}

#[test]
fn each_problem_has_its_type_title_and_status() {
    let registry = "https://iana.org/assignments/http-problem-types#";
    for (problem, fragment, title, status) in [
        (Problem::quota_exceeded("api"), "quota-exceeded", "Quota Exceeded", 429),
        (
            Problem::temporary_reduced_capacity().violated("api"),
            "temporary-reduced-capacity",
            "Temporary Reduced Capacity",
            503,
        ),
        (
            Problem::abnormal_usage_detected().violated("api"),
            "abnormal-usage-detected",
            "Abnormal Usage Detected",
            429,
        ),
    ] {
        let members = json!({
            "type": format!("{registry}{fragment}"),
            "title": title,
            "status": status,
            "violated-policies": ["api"],
        });
        assert_eq!(read(&problem), members);
        assert_eq!(problem.status(), status);
    }
}

#[test]
fn absent_members_are_left_out() {
    let problem = read(&Problem::temporary_reduced_capacity());
    assert_eq!(problem.as_object().unwrap().len(), 3);
    let plain = json!({"type": "about:blank", "title": "Bad Request", "status": 400});
    assert_eq!(read(&Problem::plain(400, "Bad Request")), plain);
}

#[test]
fn another_status_is_in_the_body_too() {
    let problem = Problem::quota_exceeded("api").with_status(403);
    assert_eq!(problem.status(), 403);
    assert_eq!(read(&problem)["status"], 403);
}

#[test]
fn body_is_appended() {
    let mut out = String::from("\r\n\r\n");
    Problem::plain(404, "Not Found").write_to(&mut out);
    assert!(out.starts_with("\r\n\r\n{"));
}

proptest! {
    #[test]
    fn any_text_is_escaped([title, detail, name] in any::<[String; 3]>()) {
        let problem = read(&Problem::plain(400, &title).detail(&detail).violated(&name));
        let members = json!({
            "type": "about:blank",
            "title": title,
            "status": 400,
            "detail": detail,
            "violated-policies": [name],
        });
        prop_assert_eq!(problem, members);
    }
}
