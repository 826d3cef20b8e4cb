//! `[policy.NAME]`.

/// Config files and the errors they give.
pub(crate) const CASES: [(&str, &str); 37] = [
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ngeneration = -1",
        "3:14: policy.a.generation is -1; expected a whole number from 0 to 4294967295",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ngeneration = \"2\"",
        "3:14: policy.a.generation is a string; expected a whole number from 0 to 4294967295",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\nmax_keys = 0",
        "3:12: policy.a.max_keys is 0; expected a whole number from 1 to 4000000000",
    ),
    (
        "[policy.\"a b\"]\nlimits = [\"gcra 1/s\"]",
        "1:9: policy: name \"a b\" contains ' '; expected letters, digits, '-', '_' or '.'",
    ),
    (
        "[policy.\"\"]\nlimits = [\"gcra 1/s\"]",
        "1:9: policy: name is empty; expected 1 to 64 bytes",
    ),
    (
        "[policy.\"\\u001b[31m\"]\nlimits = [\"gcra 1/s\"]",
        "1:9: policy: name \"\\u{1b}[31m\" contains '\\u{1b}'; expected letters, digits, '-', '_' or \
         '.'",
    ),
    (
        "[policy.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx]\nlimits = \
         [\"gcra 1/s\"]",
        "1:9: policy: name has 65 bytes; expected 1 to 64",
    ),
    (
        "[policy.\"cl.throttle\"]\nlimits = [\"gcra 1/s\"]",
        "1:9: policy name \"cl.throttle\" is reserved for the command CL.THROTTLE",
    ),
    (
        "[policy.\"a.candidate\"]\nlimits = [\"gcra 1/s\"]",
        "1:9: policy name \"a.candidate\" is reserved for the candidate of another policy",
    ),
    (
        "[policy.cl.throttle]\nlimits = [\"gcra 1/s\"]",
        "1:9: missing key policy.cl.limits; expected limits = [\"…\"]\n1:12: unknown key \
         policy.cl.throttle; expected limits, candidate, overrides, enforce, headers, \
         distribution, flush, cap, read, max_slice, on_failure, generation or max_keys",
    ),
    ("[policy.a]", "1:9: missing key policy.a.limits; expected limits = [\"…\"]"),
    ("[policy.a]\nlimits = []", "2:10: policy.a.limits is empty; expected at least one limit"),
    (
        "[policy.a]\nlimits = \"gcra 1/s\"",
        "2:10: policy.a.limits is a string; expected a list of limits, such as [\"gcra 100/s \
         burst 200\"]",
    ),
    (
        "[policy.a]\nlimits = [1]",
        "2:11: an item of policy.a.limits is a whole number; expected a limit, such as \"gcra \
         100/s burst 200\"",
    ),
    (
        "[policy.a]\nlimits = [[\"gcra 1/s\"]]",
        "2:11: an item of policy.a.limits is a list; expected a limit, such as \"gcra 100/s \
         burst 200\"",
    ),
    (
        "[policy.a]\nlimits = [\"\"]",
        "2:11: limit \"\", column 1: algorithm is missing; expected gcra, token-bucket, \
         leaky-bucket, legacy, fixed-window, request-window, sliding-log, sliding-counters, \
         sliding-window, ar1, concurrency, unlimited",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/minn\"]",
        "2:19: limit \"gcra 1/minn\", column 8: period \"minn\" is not accepted; expected a \
         unit (us, ms, s, min, h, day, week; for fixed-window also month, year) or a positive \
         whole number and a unit, such as 10min (did you mean \"min\"?)",
    ),
    (
        "[policy.a]\nlimits = [ 'é', 'gcra  0/s' ]",
        "2:13: limit \"é\", column 1: algorithm \"é\" is not accepted; expected gcra, \
         token-bucket, leaky-bucket, legacy, fixed-window, request-window, sliding-log, \
         sliding-counters, sliding-window, ar1, concurrency, unlimited\n2:24: limit \"gcra  \
         0/s\", column 7: count \"0\" is not accepted; expected a whole number from 1 to \
         4294967295",
    ),
    (
        "[policy.a]\nlimits = [\"\\u0067cra 0/s\"]",
        "2:11: limit \"gcra 0/s\", column 6: count \"0\" is not accepted; expected a whole \
         number from 1 to 4294967295",
    ),
    (
        "[policy.a]\nlimits = [\"\"\"\ngcra 0/s\"\"\"]",
        "3:6: limit \"gcra 0/s\", column 6: count \"0\" is not accepted; expected a whole \
         number from 1 to 4294967295",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s per a/b\"]",
        "2:25: limit \"gcra 1/s per a/b\", column 14: per \"a/b\" is not accepted; expected a \
         name of up to 64 letters, digits, '-', '_' and '.', such as ip or user",
    ),
    (
        "[policy.a]\nlimts = [\"gcra 1/s\"]",
        "1:9: missing key policy.a.limits; expected limits = [\"…\"]\n2:1: unknown key \
         policy.a.limts; expected limits, candidate, overrides, enforce, headers, distribution, \
         flush, cap, read, max_slice, on_failure, generation or max_keys (did you mean \"limits\"?)",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\nlimit = \"gcra 1/s\"",
        "3:1: unknown key policy.a.limit; expected limits, candidate, overrides, enforce, \
         headers, distribution, flush, cap, read, max_slice, on_failure, generation or max_keys (did you mean \"limits\"?)",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\nenforce = \"shadw\"",
        "3:11: enforce \"shadw\" is not known; expected on, shadow, silent, off or a percentage \
         such as 25% (did you mean \"shadow\"?)",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\nenforce = \"101%\"",
        "3:11: enforce \"101%\" is not known; expected on, shadow, silent, off or a percentage \
         such as 25%",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\nenforce = 25",
        "3:11: policy.a.enforce is a whole number; expected on, shadow, silent, off or a \
         percentage such as \"25%\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\nenforce = \
         \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
        "3:11: policy.a.enforce is \
         \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…\"; expected on, shadow, \
         silent, off or a percentage such as \"25%\"",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\nheaders = \"draft8\"",
        "3:11: policy.a.headers is \"draft8\"; expected ietf, draft-8, draft-7, draft-6, \
         x-epoch, x-delta, leaky or none (did you mean \"draft-8\"?)",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\nheaders = false",
        "3:11: policy.a.headers is a boolean; expected ietf, draft-8, draft-7, draft-6, \
         x-epoch, x-delta, leaky or none",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\non_failure = \"open\"",
        "3:14: policy.a.on_failure is \"open\"; expected allow, deny or local",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\non_failure = 1979-05-27",
        "3:14: policy.a.on_failure is a date or time; expected allow, deny or local",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ncandidate = \"gcra 1/s\"",
        "3:13: policy.a.candidate is a string; expected a list of limits, such as [\"gcra 100/s \
         burst 200\"]",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ncandidate = [\"gcra 0/s\"]",
        "3:20: limit \"gcra 0/s\", column 6: count \"0\" is not accepted; expected a whole \
         number from 1 to 4294967295",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\"]\ncandidate = [\"gcra 1/s per user\"]",
        "3:13: policy.a.candidate counts per user; expected only subjects that the limits also \
         count",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s per ip\", \"gcra 1/s per user\"]\ncandidate = [\"gcra \
         1/s per all\", \"gcra 1/s\"]",
        "3:13: policy.a.candidate counts the nameless key; expected only subjects that the \
         limits also count",
    ),
    (
        "[policy.a]\nlimits = [\"gcra 1/s\", \"gcra 9/s of tokens\"]\ncandidate = [\"gcra 5/s of tokens\", \
         \"gcra 1/s of bytes\"]",
        "3:13: policy.a.candidate takes costs of bytes; expected only units that the limits also take",
    ),
    (
        "[policy.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx]\nlimits = [\"gcra \
         1/s\"]\ncandidate = [\"gcra 2/s\"]",
        "3:13: the name of a policy with a candidate has at most 54 bytes, since the candidate \
         is stored under the name with .candidate appended",
    ),
];
