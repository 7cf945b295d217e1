//! Definitions, runs and views as their callers meet them.

use clawhold_api::error::Code;
use serde_json::{Value, json};

use super::{Server, problem};

const HELD: &str = "worker.leaving = true and worker.held_jobs > 0";

fn fix(name: &str) -> Value {
    json!({
        "name": name,
        "condition": HELD,
        "action": "Hand every held job back before the worker stops, \
                   then confirm the queue owns each one.",
        "approval": "auto",
        "notify": ["#ops-alerts"],
        "max_runs": ["20 per day"],
        "cooldown": "5m",
    })
}

#[tokio::test]
async fn a_fix_is_added_shown_changed_and_reverted() {
    let server = Server::start().await;
    let added = server.done("/v1/auto-fixes", fix("Return Held Jobs")).await;
    assert_eq!((&added["added"], &added["definition"]["version"]), (&json!(true), &json!(1)));
    let operations: Vec<&str> = added["definition"]["plan"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["operation"].as_str().unwrap())
        .collect();
    assert_eq!(operations, ["job.return_held", "check.queue_owns"]);
    assert_eq!(added["definition"]["fix"]["left"], json!(["20 of 20 per day left"]));
    let again = server.refused("/v1/auto-fixes", fix("Return Held Jobs")).await;
    assert_eq!((again.code, again.version), (Code::Exists, Some(1)));
    let similar = server.refused("/v1/auto-fixes", fix("return-held jobs")).await;
    assert_eq!(similar.name.as_deref(), Some("Return Held Jobs"));
    let path = "/v1/auto-fixes/Return%20Held%20Jobs";
    let changed = server.changed(path, json!({"cooldown": "10m"})).await;
    assert_eq!(changed["difference"].as_array().unwrap().len(), 1);
    assert_eq!(changed["definition"]["spec"]["cooldown"], "10m");
    assert_eq!(changed["definition"]["spec"]["condition"], HELD);
    assert_eq!(changed["definition"]["plan_hash"], added["definition"]["plan_hash"]);
    let same = server.changed(path, json!({"cooldown": "10m"})).await;
    assert_eq!((&same["changed"], &same["definition"]["version"]), (&json!(false), &json!(2)));
    let stale = server.http.patch(server.url(path)).json(&json!({"version": 1, "cooldown": "1m"}));
    assert_eq!(problem(stale.send().await.unwrap()).await.code, Code::WrongVersion);
    let reverted = server.done(&format!("{path}/revert"), json!({"to": 1})).await;
    assert_eq!(reverted["definition"]["spec"]["cooldown"], "5m");
    let history = server.read(&format!("{path}/history")).await;
    let acts: Vec<&str> = history["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| version["act"].as_str().unwrap())
        .collect();
    assert_eq!(acts, ["added", "edited", "reverted to version 1"]);
    server.done(&format!("{path}/disable"), json!({})).await;
    assert_eq!(server.read(path).await["enabled"], false);
    let removed = server.http.delete(server.url(path)).send().await.unwrap();
    assert!(removed.status().is_success());
    let gone = problem(server.get(path).await).await;
    assert_eq!(gone.code, Code::NotFound);
}

#[tokio::test]
async fn a_wrong_condition_is_shown_with_a_caret_and_nothing_is_kept() {
    let server = Server::start().await;
    let mut body = fix("Bad");
    body["condition"] = json!("worker.leaving = true\n and worker.hold_jobs > 0");
    let refused = server.refused("/v1/auto-fixes", body).await;
    assert_eq!((refused.code, refused.field.as_deref()), (Code::BadCondition, Some("condition")));
    assert!(refused.lines.iter().any(|line| line.trim() == "^^^^^^^^^^^^^^^^"), "{refused:?}");
    assert!(refused.detail.contains("worker.held_jobs"));
    assert_eq!(server.read("/v1/auto-fixes").await["items"], json!([]));
}

#[tokio::test]
async fn what_is_not_understood_is_kept_for_a_person_and_said() {
    let server = Server::start().await;
    let steps = "Stop the leaving worker from taking new work. Do the usual dance.";
    let body = json!({"name": "Dance", "trigger": "/dance", "steps": steps});
    let strict = server.refused("/v1/runbooks?strict=true", body.clone()).await;
    assert_eq!(strict.code, Code::BadPlan);
    let trial = server.done("/v1/runbooks?dry_run=true", body.clone()).await;
    assert_eq!(trial["definition"]["version"], 0);
    assert_eq!(server.read("/v1/runbooks").await["items"], json!([]));
    let added = server.done("/v1/runbooks", body).await;
    let plan = &added["definition"]["plan"];
    assert_eq!(plan[0]["reading"], "understood");
    assert_eq!(
        (&plan[1]["operation"], &plan[1]["reading"]),
        (&json!("manual.confirm"), &json!("not_understood"))
    );
    assert_eq!(added["definition"]["warnings"].as_array().unwrap().len(), 1);
    let order = json!({"name": "Wrong", "steps":
        "Admit new work. Place every returned job."});
    assert_eq!(server.refused("/v1/runbooks", order).await.code, Code::BadPlan);
    let taken = json!({"name": "Other", "trigger": "/dance", "step": ["show.workers"]});
    let taken = server.refused("/v1/runbooks", taken).await;
    assert_eq!((taken.code, taken.name.as_deref()), (Code::TriggerTaken, Some("Dance")));
}

#[tokio::test]
async fn a_command_answers_from_each_source_and_says_which_is_not_connected() {
    let (here, there) = (Server::start().await, Server::start().await);
    let ana = there.session("ana", &[], 0).await;
    there.done("/v1/roles/billing/acquire", json!({"session": ana})).await;
    let url = there.running.url().to_owned();
    here.done("/v1/sources", json!({"name": "AWS Production", "url": url})).await;
    let message = "Show which worker currently holds the lease, when the lease expires, and the \
        token value, so a handoff can be read without guessing who is active.";
    let body = json!({"name": "leader holder", "trigger": "/leader", "message": message,
        "sources": ["AWS Production", "Elsewhere"]});
    let added = here.done("/v1/commands", body).await;
    let warnings = added["definition"]["warnings"].to_string();
    assert!(warnings.contains("Elsewhere") && !warnings.contains("AWS"), "{warnings}");
    let ran = here.done("/v1/run", json!({"text": "/leader"})).await;
    let answers = ran["answers"].as_array().unwrap();
    assert_eq!((&answers[0]["connected"], &answers[1]["connected"]), (&json!(true), &json!(false)));
    let line = ran["lines"][0].as_str().unwrap();
    assert!(line.starts_with("AWS Production: billing: held by ana (session "), "{line}");
    assert!(line.contains("the lease expires in") && line.contains("token "), "{line}");
    assert!(ran["lines"][1].as_str().unwrap().starts_with("Elsewhere: not connected"));
    assert_eq!(answers[0]["data"]["show.holder"][0]["holder"]["worker"], "ana");
    let one = here.done("/v1/run", json!({"text": "/leader other"})).await;
    assert!(one["lines"][0].as_str().unwrap().ends_with("there is no role other"));
    there.running.stop().await.unwrap();
    let ran = here.done("/v1/run", json!({"text": "/leader"})).await;
    assert_eq!(ran["answers"][0]["connected"], false);
}

#[tokio::test]
async fn words_start_a_run_that_asks_for_what_it_is_not_told() {
    let server = Server::start().await;
    let body = json!({"name": "Pause", "trigger": "/runbook pause",
        "step": ["queue.pause queue=run"]});
    server.done("/v1/runbooks", body).await;
    for queue in ["mail", "index"] {
        let made = server.http.put(server.url(&format!("/v1/queues/{queue}"))).json(&json!({}));
        assert!(made.send().await.unwrap().status().is_success());
    }
    let which = server.refused("/v1/run", json!({"text": "/runbook pause"})).await;
    assert_eq!((which.code, which.param.as_deref()), (Code::NeedsParam, Some("queue")));
    assert_eq!(which.choices.len(), 2);
    let params = json!({"queue": "mail"});
    let ran = server.done("/v1/run", json!({"text": "/runbook pause", "params": params})).await;
    let run = ran["run"]["id"].as_u64().unwrap();
    let shown = server.read(&format!("/v1/runs/{run}")).await;
    assert_eq!((&shown["state"], &shown["params"]["queue"]), (&json!("succeeded"), &json!("mail")));
    assert_eq!(shown["steps"][0]["state"], "done");
    let listed = server.read("/v1/runs?kind=runbook&state=succeeded").await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let unknown = server.refused("/v1/run", json!({"text": "/runbok pause"})).await;
    assert_eq!(
        (unknown.code, unknown.choices),
        (Code::NotFound, vec!["/runbook pause".to_owned()])
    );
    let by_name = server.done("/v1/runbooks/Pause/run", json!({"target": "index"})).await;
    assert_eq!(by_name["origin"], "hand");
}

#[tokio::test]
async fn a_fix_that_is_tried_counts_nothing_and_a_blocked_one_says_how_to_run_it() {
    let server = Server::start().await;
    server.done("/v1/auto-fixes", fix("Return Held Jobs")).await;
    server.session("w-1", &["mail"], 2).await;
    let path = "/v1/auto-fixes/Return%20Held%20Jobs";
    let tested = server.done(&format!("{path}/test"), json!({"target": "w-1"})).await;
    let target = &tested["targets"][0];
    assert_eq!(
        (&target["verdict"], &target["reason"]),
        (&json!("false"), &json!("condition_cleared"))
    );
    assert_eq!(tested["plan"].as_array().unwrap().len(), 2);
    assert_eq!(server.read(path).await["fix"]["left"], json!(["20 of 20 per day left"]));
    let blocked = server.refused(&format!("{path}/run"), json!({"target": "w-1"})).await;
    assert_eq!(
        (blocked.code, blocked.reason.as_deref()),
        (Code::Blocked, Some("condition_cleared"))
    );
    let lines = blocked.lines.join("\n");
    assert!(lines.contains("auto-fix run \"Return Held Jobs\" --target w-1 --override"), "{lines}");
}

#[tokio::test]
async fn an_export_comes_back_as_it_went_and_an_import_is_all_or_none() {
    let server = Server::start().await;
    server.done("/v1/auto-fixes", fix("Return Held Jobs")).await;
    let sink = json!({"kind": "slack", "url": "https://hooks.example/secret"});
    server.done("/v1/channels", json!({"name": "#ops-alerts", "sink": sink})).await;
    server.done("/v1/agents/DevOps%20Monitor/messages", json!({"message": "Say hello."})).await;
    let exported = server.read("/v1/export").await;
    assert!(!exported.to_string().contains("hooks.example"));
    let same = server.done("/v1/import", json!({"definitions": exported})).await;
    assert_eq!((&same["unchanged"], &same["items"]), (&json!(3), &json!([])));
    let mut other = exported.clone();
    other["auto_fixes"][0]["cooldown"] = json!("10m");
    other["agents"] = json!([]);
    let ask =
        |dry_run: bool| json!({"definitions": other.clone(), "prune": true, "dry_run": dry_run});
    let trial = server.done("/v1/import", ask(true)).await;
    assert_eq!((&trial["changed"], &trial["removed"]), (&json!(1), &json!(1)));
    assert_eq!(server.read("/v1/agents").await["items"].as_array().unwrap().len(), 1);
    let done = server.done("/v1/import", ask(false)).await;
    assert_eq!(done["items"], trial["items"]);
    assert_eq!(server.read("/v1/agents").await["items"], json!([]));
    let mut bad = exported;
    bad["auto_fixes"][0]["cooldown"] = json!("1m");
    bad["auto_fixes"].as_array_mut().unwrap().push(json!({"name": "x", "condition": "nonsense",
        "steps": ["show.workers"]}));
    let refused = server.refused("/v1/import", json!({"definitions": bad})).await;
    assert_eq!(refused.code, Code::BadCondition);
    assert!(refused.field.unwrap().starts_with("definitions.auto_fixes[\"x\"]"));
    let kept = server.read("/v1/auto-fixes/Return%20Held%20Jobs").await;
    assert_eq!(kept["spec"]["cooldown"], "10m");
}

#[tokio::test]
async fn a_role_says_who_would_promote_and_why_not() {
    let server = Server::start().await;
    let (ana, ben) = (server.session("ana", &[], 0).await, server.session("ben", &[], 0).await);
    server.done("/v1/roles/billing/acquire", json!({"session": ana})).await;
    let waits = json!({"session": ben, "stand_by": true});
    server.done("/v1/roles/billing/acquire", waits).await;
    let role = server.read("/v1/roles/billing").await;
    assert_eq!(
        (&role["promotion"], &role["promoter"]),
        (&json!("auto"), &json!("the lapse itself"))
    );
    let body = json!({"name": "Promote Standby", "condition": "lease.expired == true",
        "approval": "auto", "max_runs": ["6 per day"], "action":
        "Promote the warm standby by acquiring the lease with a token higher than any seen, then \
         resume from the recorded position so nothing is processed twice or missed"});
    server.done("/v1/auto-fixes", body).await;
    let role = server.read("/v1/roles/billing").await;
    assert_eq!(role["promoter"], "Promote Standby");
    assert_eq!(role["promoter_left"], "6 of 6 per day left");
    server.done("/v1/automation/pause", json!({"reason": "maintenance"})).await;
    let role = server.read("/v1/roles/billing").await;
    // A pause keeps fixes from running, and nobody from leading.
    assert_eq!(role["promoter"], "the lapse itself");
    assert_eq!(server.read("/v1/status").await["automation_paused"], true);
    let set =
        server.http.put(server.url("/v1/roles/billing")).json(&json!({"promotion": "native"}));
    let role: Value = set.send().await.unwrap().json().await.unwrap();
    assert_eq!(
        (&role["promotion"], &role["promoter"]),
        (&json!("native"), &json!("the lapse itself"))
    );
}

#[tokio::test]
async fn a_condition_is_checked_and_explained_for_each_target() {
    let server = Server::start().await;
    server.session("w-1", &["mail"], 2).await;
    let checked = server.done("/v1/conditions/check", json!({"condition": HELD})).await;
    assert_eq!(checked["canonical"], "worker.leaving == true && worker.held_jobs > 0");
    assert_eq!(checked["target"], "worker");
    let explained = server.done("/v1/conditions/explain", json!({"condition": HELD})).await;
    assert_eq!(explained["targets"][0]["target"]["name"], "w-1");
    assert_eq!(explained["targets"][0]["verdict"], "false");
    let nobody = json!({"condition": HELD, "target": "w-9"});
    assert_eq!(server.refused("/v1/conditions/explain", nobody).await.code, Code::NotFound);
    let fields = server.read("/v1/conditions/fields").await;
    assert!(fields["items"].to_string().contains("lease.expired"));
}
