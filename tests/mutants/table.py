"""The table of breaks: each takes one guard out of the source, and names the tests of which one must fail for it.

A text is short and occurs once in its file. Tests are files, or single tests where a file would take long.
"""

from collections.abc import Mapping, Sequence

from tests.mutants.breaks import Break
from tests.mutants.filters import every_fence

Entry = tuple[str, str, str]
"""The name of a break, the text that is taken out, and what stands there instead."""

MODEL = ("tests/model/test_conformance.py",)
OF_RUNS = ("tests/model/test_conformance_of_runs.py",)
OF_ANOTHER_KEY = "a_key_with_the_hash_of_another_is_refused_and_sends_nothing"
TAKEN_FOR_A_REPEAT = "a_key_with_the_hash_of_another_is_refused_and_never_taken_for_a_repeat"


def kernel(name: str, *tests: str) -> tuple[str, ...]:
    """The tests of a file of the kernel, or some of them."""
    return _tests(f"tests/kernel/test_{name}.py", tests)


def domain(name: str) -> tuple[str, ...]:
    """The tests of a file of the domain."""
    return (f"tests/domain/test_{name}.py",)


def resources(name: str, *tests: str) -> tuple[str, ...]:
    """The tests of a file of the resources, or some of them."""
    return _tests(f"tests/resources/test_{name}.py", tests)


def http(name: str) -> tuple[str, ...]:
    """The tests of a file of the API."""
    return (f"tests/http/test_{name}.py",)


def security(name: str) -> tuple[str, ...]:
    """The tests of a file about attacks."""
    return (f"tests/security/test_{name}.py",)


def providers(name: str, *tests: str) -> tuple[str, ...]:
    """The tests of a file of the providers, or some of them."""
    return _tests(f"tests/providers/test_{name}.py", tests)


def vendor(name: str) -> tuple[str, ...]:
    """The tests of one vendor's provider."""
    return (f"tests/providers/vendors/test_{name}.py",)


def _tests(file: str, tests: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{file}::test_{test}" for test in tests) or (file,)


MOVED = "o.status = 'queued' and o.marked_at is null and not o.in_doubt"
RELEASED = "select q.id, q.wake or q.stop is distinct from t.stop as due_now, t.status, t."
RESULT = "o.status = 'queued' and o.marked_attempt = t.attempt and o.recipient <> ''"
KEPT_RESULT = kernel("finalize", "rule_2_a_result_is_kept_under_the_guard_of_its_fact")
REACHES = resources("campaigns", "a_campaign_reaches_nobody_of_another_workspace_whatever_its_audience_and_tenant")
NAMED = resources("audience_filters", "no_way_finds_contacts_of_another_workspace")
ENROLLS = kernel("enroll", "filters_are_joined_united_with_ids_and_exclusions_removed")
LEFT_BEHIND = kernel("deploy", "rule_10_a_chunk_that_others_have_left_behind_is_not_written_and_moves_no_cursor_back")
AT_ONCE = kernel("finalize", "rule_8_a_provider_that_says_try_again_at_once_does_not_get_a_loop_without_a_pause")
ERASED = kernel("finalize", "a_fact_of_an_item_that_was_erased_meanwhile_says_its_outcome_and_nothing_else")
LATE_KEY = "keyed_is_repeated_only_once_the_provider_knows_its_key"
SETTLED = kernel("doubt", "rule_9_absent_after_an_unknown_answer_permits_a_resend_only_after_the_settle_time")
PACED = resources("campaigns", "rule_2_an_item_gets_another_time_only_under_the_lease_and_before_its_first_call")
RULE_5 = kernel(
    "deliver",
    "rule_5_no_call_starts_on_a_lease_of_its_deadline_and_half_the_margin",
    "rule_5_draining_unmarks_what_has_not_started_and_leaves_nothing_in_doubt",
    "rule_5_a_worker_does_not_start_what_it_had_marked_once_that_lease_is_lost",
)
OURS = "c.workspace_id = :workspace"
ANYBODYS = ":workspace::text is not null"

TABLE: Mapping[tuple[str, str, tuple[str, ...]], Sequence[Entry]] = {
    ("rule 1: the lease", "storage/sql/claim.sql", MODEL): [
        ("claim-before-due", "due_at between :since and :now", "due_at >= :since and :now::timestamptz is not null"),
        ("give-back-keeps-fence", "set due_at = :due_at, fence = queue.fence + 1,", "set due_at = :due_at,"),
        ("renew-what-is-not-leased", "\n   and queue.leased\nreturning", "\nreturning"),
    ],
    ("rule 1: the lease", "storage/sql/claim_parts.sql", MODEL): [
        ("claim-keeps-fence", "set due_at = :lease_until, fence = queue.fence + 1", "set due_at = :lease_until"),
    ],
    ("rule 1: wake and stop", "storage/sql/release.sql", MODEL): [
        ("execution-ignores-wake", f"{RELEASED}frontier", f"{RELEASED}frontier".replace("q.wake or ", "")),
        (
            "execution-ignores-stop",
            f"{RELEASED}frontier",
            f"{RELEASED}frontier".replace(" or q.stop is distinct from t.stop", ""),
        ),
        (
            "execution-keeps-fence",
            "coalesce(m.due_at, :now) end, fence = q.fence + 1,",
            "coalesce(m.due_at, :now) end,",
        ),
        ("wake-moves-a-lease", "case when leased then due_at else least(due_at, :at) end", "least(due_at, :at)"),
        ("wake-is-not-noted", "end, wake = wake or leased\n where", "end\n where"),
    ],
    ("rule 1: wake and stop", "storage/sql/release.sql", kernel("stop")): [
        (
            "execution-ends-without-having-heard-of-a-stop",
            "t.ended_at is not null and q.stop is distinct from t.stop as held_back",
            "false as held_back",
        ),
    ],
    ("rules 1, 10: jobs and runs", "storage/sql/release.sql", OF_RUNS): [
        ("job-ignores-wake", "h.planned, q.wake or q.stop is", "h.planned, q.stop is"),
        ("job-ignores-stop", "h.planned, q.wake or q.stop is distinct from t.stop", "h.planned, q.wake"),
        ("run-ignores-wake", f"{RELEASED}planned", f"{RELEASED}planned".replace("q.wake or ", "")),
        (
            "run-ignores-stop",
            f"{RELEASED}planned",
            f"{RELEASED}planned".replace(" or q.stop is distinct from t.stop", ""),
        ),
        ("job-ends-with-open-items", "case when m.open > 0 then 'queued'", "case when m.open > 9 then 'queued'"),
    ],
    ("rule 1: people's words", "storage/sql/resolve.sql", MODEL): [
        (
            "stop-moves-a-lease",
            "case when leased then due_at else :now end, wake = wake or leased\n where shard = :shard and id = :id and",
            ":now, wake = wake or leased\n where shard = :shard and id = :id and",
        ),
    ],
    ("rule 1: people's words", "storage/sql/resolve.sql", kernel("stop")): [
        ("cancel-is-taken-back", "(stop is distinct from 'cancel' or :stop::text = 'cancel')", ":id is not null"),
    ],
    ("rule 1: people's words", "storage/sql/resolve.sql", kernel("resolve")): [
        ("word-during-a-call", "and q.fence = o.marked_fence and o.marked_at is not null)", "and false)"),
    ],
    ("rule 1: people's words", "kernel/manage/resolve.py", kernel("resolve")): [
        ("word-in-another-workspace", " or item.workspace != caller.workspace", ""),
        ("stop-in-another-workspace", " or found.workspace != caller.workspace", ""),
        ("run-stopped-from-elsewhere", " or Workspace(found.tenant, found.workspace) != caller.workspace", ""),
    ],
    ("rule 2: facts", "storage/sql/finalize.sql", MODEL): [
        ("fact-of-an-earlier-attempt", "       and o.marked_attempt = f.attempt\n", ""),
        ("fact-counted-twice", "       and (o.marked_at is not null or f.status <> 'queued')\n", ""),
        ("fact-of-an-ended-item", "o.id = f.id and o.status = 'queued'", "o.id = f.id"),
        ("fact-forgets-doubt", "(o.in_doubt or f.unknown)", "f.unknown"),
        (
            "fact-keeps-mark",
            "marked_at = case when f.status <> 'queued' then o.marked_at end",
            "marked_at = o.marked_at",
        ),
        ("fact-moves-a-lease", "q.fence = f.fence or q.leased then q.due_at", "q.fence = f.fence then q.due_at"),
        ("fact-gives-no-attempt-back", "o.attempts - (not f.uses_attempt)::integer", "o.attempts"),
    ],
    ("rule 2: results", "storage/sql/finalize.sql", KEPT_RESULT): [
        ("result-of-an-ended-item", RESULT, RESULT.replace("o.status = 'queued' and ", "")),
        ("result-of-an-earlier-attempt", RESULT, RESULT.replace("o.marked_attempt = t.attempt and ", "")),
        ("result-of-an-erased-item", RESULT, RESULT.replace(" and o.recipient <> ''", "")),
    ],
    (
        "rule 3: the time",
        "storage/clock.py",
        kernel("claim", "rule_3_the_database_is_asked_for_the_time_at_most_every_ten_seconds"),
    ): [
        ("time-carried-for-ever", "self._read_at >= _LONGEST_CARRY_SECONDS", "self._read_at >= 1e9"),
    ],
    ("rule 4: the mark", "storage/sql/outbox.sql", MODEL): [
        ("mark-of-a-stopped-owner", "q.fence = t.fence and q.stop is null", "q.fence = t.fence"),
        ("mark-of-a-marked-item", "t.attempt - 1 and o.marked_at is null)", "t.attempt - 1)"),
        ("mark-of-an-ended-item", "and o.status = 'queued' and o.in_doubt = t.again", "and o.in_doubt = t.again"),
        ("mark-of-a-doubtful-item", "and o.status = 'queued' and o.in_doubt = t.again", "and o.status = 'queued'"),
        (
            "reserve-marks-for-a-stopped-owner",
            "when t.mark and q.stop is null then t.fence",
            "when t.mark then t.fence",
        ),
        ("unmark-of-another-attempt", "o.marked_attempt = t.attempt and o.marked_fence = t.fence and (", "("),
        ("unmark-ends-doubt", "o.in_doubt and (t.doubtful or t.owner not in (select id from lost))", "false"),
        ("skip-of-a-marked-item", "       and o.marked_at is null and not o.in_doubt\n", "       and not o.in_doubt\n"),
        (
            "skip-of-a-doubtful-item",
            "       and o.marked_at is null and not o.in_doubt\n",
            "       and o.marked_at is null\n",
        ),
    ],
    ("rule 4: another connection", "storage/sql/outbox.sql", kernel("failover")): [
        ("move-of-a-marked-item", f"{MOVED}\n", f"{MOVED}\n".replace("o.marked_at is null and ", "")),
        ("move-of-a-doubtful-item", f"{MOVED}\n", f"{MOVED}\n".replace(" and not o.in_doubt", "")),
        ("move-of-an-ended-item", f"{MOVED}\n", f"{MOVED}\n".replace("o.status = 'queued' and ", "")),
        ("move-of-a-later-attempt", "o.marked_attempt = t.attempt and o.provider in", "o.provider in"),
    ],
    ("rule 4: another connection", "kernel/flow/reroute.py", kernel("failover")): [
        ("doubt-goes-to-another", " or fact.unknown or item.in_doubt", ""),
    ],
    ("rule 4: another connection", "kernel/gate/failover.py", kernel("failover")): [
        ("nobody-tries-what-is-closed", " and not is_trying(name)", ""),
        ("sticky-goes-to-another", " and connection.is_sticky and not connection.is_removed", " and False"),
    ],
    ("rule 12: places in limits", "domain/connections/limits.py", kernel("connection_limits")): [
        ("place-counted-for-a-part-less", "return self.own_parts + 2", "return self.own_parts"),
    ],
    ("rule 12: places in limits", "kernel/gate/gate.py", kernel("connection_limits")): [
        ("place-held-for-ever", "            or self.places.is_spent(marked.id, now)\n", ""),
    ],
    ("rule 12: places in limits", "kernel/flow/windows.py", kernel("connection_limits")): [
        ("call-without-a-place", "            del chosen[id]\n", "            pass\n"),
    ],
    ("rule 5: windows", "kernel/flow/lease_keeper.py", RULE_5): [
        ("call-on-half-the-margin", "until + self._margin < self._until", "until + self._margin / 2 < self._until"),
        ("call-without-its-lease", "return owner in self._held and until", "return until"),
    ],
    ("rule 5: windows", "kernel/flow/windows.py", RULE_5): [
        ("call-that-outlasts-its-lease", " and self._may_call(item, now + longest)", ""),
    ],
    ("rule 5: windows", "kernel/gate/gate.py", RULE_5): [
        ("call-while-draining", "self._draining.is_set()\n            or ", ""),
    ],
    ("rule 6: planned once", "kernel/flow/plan.py", kernel("reserve")): [
        ("key-of-the-fence", "node.id, FIRST_VISIT, one.ordinal)", "node.id, case.held.lease.fence, one.ordinal)"),
        ("key-of-the-address", "node.id, FIRST_VISIT, one.ordinal)", "node.id, FIRST_VISIT, hash(one.address))"),
        ("key-without-the-node", "workflow_key(execution, node.id,", 'workflow_key(execution, "",'),
    ],
    ("rule 6: planned once", "storage/sql/outbox.sql", kernel("mark")): [
        ("payload-is-not-frozen", "coalesce(o.payload, t.payload)", "coalesce(t.payload, o.payload)"),
    ],
    ("rule 7: poison", "storage/sql/claim_parts.sql", MODEL): [
        ("crash-is-not-counted", "queue.crashes + queue.leased::integer", "queue.crashes"),
    ],
    ("rule 7: poison", "storage/sql/claim_parts.sql", kernel("claim")): [
        ("suspects-are-claimed-together", "where not exists (select 1 from due where suspect)", "where not suspect"),
    ],
    ("rule 7: poison", "storage/sql/finalize.sql", MODEL): [
        ("fact-keeps-crashes", "q.fence <> f.fence), crashes = 0", "q.fence <> f.fence), crashes = q.crashes"),
    ],
    ("rule 7: poison", "storage/sql/release.sql", (*MODEL, *OF_RUNS)): [
        (
            "execution-keeps-crashes",
            "crashes = 0\n      from moved m\n     where q.shard = :shard and q.id = m.id and (m.",
            "crashes = q.crashes\n      from moved m\n     where q.shard = :shard and q.id = m.id and (m.",
        ),
        (
            "job-keeps-crashes",
            "crashes = 0\n      from moved m\n     where q.shard = :shard and q.id = m.id and m.open",
            "crashes = q.crashes\n      from moved m\n     where q.shard = :shard and q.id = m.id and m.open",
        ),
        (
            "run-keeps-crashes",
            "crashes = 0\n      from moved m\n     where q.shard = :shard and q.id = m.id and m.ended",
            "crashes = q.crashes\n      from moved m\n     where q.shard = :shard and q.id = m.id and m.ended",
        ),
    ],
    ("rule 7: poison", "kernel/flow/settle.py", kernel("claim", "rule_7_only_the_row_that_kills_workers_dies_of_it")): [
        ("nobody-dies-of-crashes", "held.lease.crashes >= kernel.limits.crashes", "held.lease.crashes > 10**6"),
    ],
    ("rule 8: retries", "domain/flow/retry.py", domain("retry")): [
        ("one-attempt-more", "attempts >= policy.attempts", "attempts > policy.attempts"),
        ("no-patience", "if not outcome.uses_attempt and now - first_marked_at >= policy.patience", "if False"),
    ],
    ("rule 8: retries", "domain/flow/retry.py", AT_ONCE): [
        ("no-pause-after-a-refusal", "max(outcome.delay, SHORTEST_WAIT)", "outcome.delay"),
    ],
    ("rule 9: doubt", "kernel/flow/finalize.py", SETTLED): [
        ("absent-is-believed-at-once", "retry_at = now + settle", "retry_at = now"),
    ],
    ("rule 9: doubt", "kernel/flow/finalize.py", kernel("doubt")): [
        ("refusal-ends-doubt", "if answered.outgoing.item.in_doubt:\n", "if False:\n"),
        ("rejection-ends-doubt", "if answered.outgoing.item.in_doubt and isinstance(", "if False and isinstance("),
    ],
    ("rule 9: doubt", "kernel/flow/doubt.py", kernel("doubt")): [
        ("absent-is-believed-after-a-crash", "elif one.item.retry_at is None:", "elif False:"),
        ("absent-without-authority", "if not verdict.authoritative:", "if False:"),
    ],
    ("rule 9: doubt", "kernel/flow/doubt.py", SETTLED): [
        ("doubt-asked-before-its-time", "or not (one.item.retry_at and one.item.retry_at > now)]", "or True]"),
    ],
    ("rule 9: doubt", "domain/flow/doubt.py", domain("doubt")): [
        ("key-outlives-its-retention", "now - first_marked_at < retention * (1 - RETENTION_MARGIN)", "True"),
        (
            "blind-is-resent",
            "case DoubtPolicy.HOLD:\n            return Hold()",
            "case DoubtPolicy.HOLD:\n            return CallAgain()",
        ),
        ("blind-is-resent-for-ever", "return CallAgain() if resends_left else Hold()", "return CallAgain()"),
        ("keyed-without-attempts", "if attempts_left and now", "if now"),
    ],
    ("rule 9: doubt", "storage/sql/finalize.sql", MODEL): [
        ("crash-uses-an-attempt", ", attempts = greatest(o.attempts - 1, 0)\n", "\n"),
        (
            "doubt-of-an-unmarked-item",
            "o.marked_attempt = t.attempt and o.marked_at is not null\n",
            "o.marked_attempt = t.attempt\n",
        ),
        ("clear-another-attempt", "o.in_doubt and o.marked_attempt = t.attempt\n", "o.in_doubt\n"),
    ],
    ("rule 9: doubt", "domain/flow/execution.py", domain("execution")): [
        ("parked-for-a-day", "return now + LOOK_AGAIN  # parked", "return now + 24 * LOOK_AGAIN  # parked"),
    ],
    ("rule 10: roll-up", "kernel/flow/jobs.py", kernel("rollup")): [
        ("job-does-not-wake-its-run", "for run_id in done | _runs_of(", "for run_id in _runs_of("),
    ],
    ("rule 10: roll-up", "domain/campaigns/run.py", domain("run")): [
        ("terminal-while-planning", "is_open = planned is None or any(", "is_open = any("),
    ],
    ("rule 10: deploying", "kernel/campaigns/plan_audience.py", kernel("deploy")): [
        ("planned-before-the-last-chunk", "return None if None in parts else sum(", "return sum("),
    ],
    ("rule 4: the mark", "storage/sql/deploy.sql", PACED): [
        (
            "time-of-a-marked-item-moves",
            "o.status = 'queued' and o.marked_attempt = 0 and not o.in_doubt",
            "not o.in_doubt",
        ),
    ],
    ("rule 10: deploying", "storage/sql/deploy.sql", LEFT_BEHIND): [
        ("chunk-behind-the-cursor", "and cursor = :cursor and", "and :cursor::bigint is not null and"),
        (
            "contacts-behind-the-cursor",
            "cursor_id is not distinct from :cursor_id::uuid",
            "(:cursor_id::uuid is null or true)",
        ),
    ],
    ("rule 12: slots", "kernel/calls/slots.py", kernel("slots")): [
        ("bulk-takes-every-slot", "kept = max(1, round(size * TRANSACTIONAL_SHARE)) if size > 1 else 0", "kept = 0"),
        (
            "transactional-takes-every-slot",
            "minimum = max(1, round(size * BULK_MINIMUM)) if size > 1 else 0",
            "minimum = 0",
        ),
        ("more-calls-than-slots", "return free if free < of_class else of_class", "return self.concurrency"),
    ],
    ("rule 19: fair use", "kernel/calls/fair_use.py", kernel("fair_use")): [
        ("first-come-takes-all", "left = greed * free - account.tenant.count", "left = 10**9"),
        ("workspaces-count-as-tenants", "account.tenant.count += count", "pass"),
    ],
    ("rule 19: turns", "kernel/calls/fair_order.py", kernel("turns")): [
        ("backlog-before-newcomers", "return max(self._reached, self._served.get(key, 0.0))", "return 0.0"),
    ],
    ("rule 19: turns", "kernel/process/claim_turns.py", kernel("turns")): [
        ("weights-are-ignored", "count / self._weights.of_tenant(tenant)", "count"),
        ("looks-never-again", "return monotonic() >= self._good_until", "return self._good_until == 0.0"),
    ],
    ("rule 19: batches", "kernel/process/in_hand.py", kernel("turns")): [
        ("one-hangs-all-wait", "< min(self._at_once, left)", "< self._at_once - len(self.batches)"),
    ],
    ("rule 19: nobody waits for a batch", "kernel/flow/windows.py", ("tests/worker/test_fairness.py",)): [
        ("done-waits-for-hanging", "if monotonic() >= self._let_go_at and", "if False and"),
    ],
    ("rule 12: slots", "kernel/process/rests.py", kernel("slots")): [
        ("rest-is-not-kept", "return rest.until if rest and rest.until > now else None", "return None"),
        ("rest-is-made-shorter", "elif known.until < rest.until:", "else:"),
    ],
    ("rule 12: slots", "kernel/flow/deliver.py", kernel("slots")): [
        (
            "last-rest-of-a-window-holds",
            "max(asked, self.rests.get(queue.name, asked), key=lambda one: one.until)",
            "asked",
        ),
    ],
    ("rule 12: slots", "storage/sql/finalize.sql", kernel("slots")): [
        ("stored-rest-is-made-shorter", " where provider_pauses.paused_until < excluded.paused_until", ""),
    ],
    ("rule 17: not started", "kernel/process/rests.py", kernel("outages")): [
        ("old-answer-ends-an-outage", "started_at is None or started_at <= known.rested_at:", "started_at is None:"),
        (
            "calls-in-the-air-are-new-trouble",
            "if known and known.rested_at and started_at <= known.rested_at:",
            "if False:",
        ),
    ],
    ("hosts of functions", "kernel/gate/hosts.py", kernel("function_hosts")): [
        ("silent-host-never-rests", "elif outage or rests.failed(name) >= FAILURES_BEFORE_REST:", "elif False:"),
        ("every-call-tries-a-host", "and self._trials[name] in (None, item.id):", "and True:"),
    ],
    ("hosts of functions", "domain/flow/hosts.py", kernel("function_hosts")): [
        ("rest-of-a-host-is-everybody-s", "{quote(workspace.tenant, safe='')}/{quote(workspace.name, safe='')}", "a/b"),
    ],
    ("private addresses", "domain/private_addresses.py", domain("private_addresses")): [
        ("credentials-of-clouds-open", "if address in METADATA:", "if False:"),
    ],
    ("private addresses", "storage/directory.py", security("functions_of_others")): [
        ("switch-opens-for-all", "self._operators.private.everything and workspace == OPERATORS_OWN", "True"),
        ("base-serves-everybody", "if not operators.serves.include(workspace):", "if False:"),
    ],
    ("the final dot", "providers/smtp.py", providers("smtp_faults")): [
        ("doubt-taken-for-a-retry", "        self._dot_written = True\n", ""),
        ("handed-over-without-a-lease", "if not may_start():", "if False:"),
        ("used-again-in-any-state", "if call.is_settled and connection.is_usable", "if connection.is_usable"),
    ],
    ("replies of mail servers", "providers/smtp_wire.py", providers("smtp_wire")): [
        (
            "stray-reply-is-believed",
            "        self.check_ready()\n        self.transport.write(data)",
            "        self.transport.write(data)",
        ),
        ("command-becomes-two", 'commands.count(b"\\n") != len(hoped)', "False"),
        ("lines-of-different-codes", "or unread[at : at + 3] != unread[:3]", ""),
    ],
    ("calls over HTTP", "providers/http_client.py", providers("http_client")): [
        ("sent-without-a-lease", "if may_start() else LeaseSpent()", "if may_start or True else LeaseSpent()"),
        ("header-breaks-out", "if not fits or not flat.isascii()", "if not flat.isascii()"),
        (
            "connection-of-another-list",
            "key = (target.is_tls, target.host, target.port, request.private)",
            "key = (target.is_tls, target.host, target.port, PrivateAddresses())",
        ),
        ("connection-that-has-ended", "if is_fresh and connection.is_reusable", "if connection.is_reusable"),
    ],
    ("calls over HTTP/2", "providers/http2_client.py", providers("http2_client")): [
        ("h2-sent-without-a-lease", "if may_start() else LeaseSpent()", "if may_start or True else LeaseSpent()"),
        (
            "h2-silence-is-life",
            "return connection.is_usable\n    try:",
            "return connection.is_usable\n    return True\n    try:",
        ),
    ],
    ("ends over HTTP/2", "providers/http2_connection.py", providers("http2_client")): [
        ("h2-cancelled-was-not-sent", "event.error_code == ErrorCodes.REFUSED_STREAM", "True"),
        ("h2-farewell-to-all", "if number > goaway.last_stream:", "if number:"),
        (
            "h2-more-streams-than-allowed",
            "len(self._streams) >= self._h2.remote_settings.max_concurrent_streams",
            "False",
        ),
    ],
    ("repeats under a late key", "kernel/flow/doubt.py", kernel("doubt", LATE_KEY)): [
        ("crash-repeats-at-once", "await _schedule(kernel, shard, settling)", "settling.clear()"),
    ],
    ("answers over HTTP", "providers/http_connection.py", providers("http_client")): [
        (
            "forged-answer-is-next",
            "            self._is_reusable = False  # nobody asked\n",
            "            self._begin(HttpRequest('', ''))\n",
        ),
        ("half-a-body-is-whole", "if self._has_head and not self._is_framed:", "if self._has_head:"),
        ("endless-head", "if self._received - self._size > LARGEST_HEAD", "if self._received < 0 and LARGEST_HEAD"),
    ],
    ("private addresses", "providers/guard.py", providers("guard")): [
        (
            "private-address-is-called",
            "if not all(_may_reach(host, ip_address(address), allowed)",
            "if False and not all(_may_reach(host, ip_address(address), allowed)",
        ),
    ],
    ("secrets that are echoed", "providers/function_answer.py", security("functions_of_others")): [
        ("result-keeps-a-secret", "question.mask.value(read_result(answer.body))", "read_result(answer.body)"),
    ],
    ("signed calls", "domain/workflows/signing.py", security("function_signatures")): [
        (
            "signature-covers-no-workspace",
            "hmac.digest(secret_bytes(secret), named.encode(), sha256)",
            "hmac.digest(secret_bytes(secret), b'', sha256)",
        ),
    ],
    ("publishable keys", "http/publishable.py", security("publishable")): [
        ("publishable-starts-anything", "if workflow not in identity.workflows:", "if False:"),
        ("publishable-sees-anything", "if execution.triggered_by != _starter(identity):", "if False:"),
        ("publishable-takes-others-keys", 'f"{_own(identity)}{key}"', "key"),
        ("publishable-tells-of-others", "if started.duplicate and started.input_payload != data:", "if False:"),
    ],
    ("publishable keys", "http/access.py", security("publishable")): [
        ("any-page-uses-a-key", "if origin not in identity.origins:", "if False:"),
    ],
    ("hot operations", "http/lean.py", ("tests/http/test_lean.py",)): [
        ("lean-lets-errors-out", "except TidingsError as error:", "except ZeroDivisionError as error:"),
    ],
    ("rule 18: nothing pretends", "kernel/start/check.py", kernel("readiness")): [
        ("trigger-without-a-route", "return ChannelNotReady(missing) if missing else None", "return None"),
    ],
    ("rule 13: the walk", "domain/flow/execution.py", domain("execution")): [
        (
            "node-before-all-arrived",
            "if [edge for edge in edges if edge not in arrived and edge not in dead]:",
            "if False:",
        ),
        ("death-does-not-spread", "settling.extend(graph.edges[edge].target for edge in sorted(fresh))", "pass"),
        ("node-before-its-time", "if ready.due_at > now:", "if False:"),
    ],
    ("rule 14: suppression", "kernel/gate/consents.py", kernel("people")): [
        ("refusal-is-ignored", "return person.refusal(item.channel) if person else NOT_THERE", "return None"),
        ("consent-is-never-read-again", "self._kernel.clock.carried() - self._read_at > FRESH", "False"),
    ],
    ("rule 14: suppression", "kernel/gate/gate.py", kernel("people")): [
        ("call-on-old-consent", "if check.is_old_for(item):", "if False:"),
    ],
    (
        "rule 15: no network inside a transaction",
        "storage/database.py",
        kernel("deliver", "rule_15_a_call_inside_a_transaction_is_refused_before_it_starts"),
    ): [
        ("call-inside-a-transaction", "if _in_transaction.get():", "if False:"),
    ],
    ("rule 16: versions", "storage/sql/workflows.sql", resources("workflows")): [
        ("used-workflow-is-deleted", "\n   and not (active and :has_executions)", "\n   and (:has_executions or true)"),
    ],
    ("replay", "storage/sql/replay.sql", resources("dead_letters")): [
        ("replay-under-a-lease", " where not held.leased\n", ""),
        ("replay-keeps-the-mark", "marked_attempt = marked_attempt + 1, marked_fence", "marked_fence"),
        ("replay-keeps-the-fence", "fence = held.fence + 1, wake = false, stop = null", "wake = false, stop = null"),
    ],
    ("erasure", "storage/sql/finalize.sql", ERASED): [
        ("erased-item-keeps-what-was-said", "case when o.recipient <> '' then f.error end", "f.error"),
        ("erased-attempt-keeps-what-was-said", "case when o.recipient <> '' then t.error else '' end", "t.error"),
    ],
    (
        "erasure",
        "storage/sql/finalize.sql",
        kernel("finalize", "an_item_that_was_erased_during_its_call_keeps_no_message_id"),
    ): [
        ("erased-item-keeps-its-message-id", "case when o.recipient <> '' then f.message_id end", "f.message_id"),
    ],
    (
        "erasure of tests",
        "kernel/people/erase.py",
        resources("erasure", "a_test_send_reads_its_contact_when_it_is_rendered_and_is_erased_with_it"),
    ): [
        ("tests-are-not-erased", "        await _erase_tests(kernel, shard, now, contact_id)\n", ""),
    ],
    (
        "erasure of tests",
        "kernel/flow/jobs.py",
        resources("erasure", "a_test_that_was_planned_while_its_contact_was_deleted_sends_nothing"),
    ): [
        ("erased-test-is-sent", "one.about and one.about in people and people[one.about].is_deleted", "False"),
    ],
    ("erasure by address", "kernel/people/erase_address.py", resources("address_erasure")): [
        ("held-is-erased-once", "    if waited:\n", "    if False:\n"),
        ("contact-s-address-is-erased", "if own := [str(one.id) for one in found if one.is_own]:", "if own := []:"),
    ],
    (
        "erasure by address",
        "kernel/gate/erased.py",
        resources("address_erasure", "what_was_erased_in_doubt_is_not_called_for_again"),
    ): [
        ("erased-item-is-called-again", "NOW if item.recipient else Never(ERASED)", "NOW"),
    ],
    (
        "erasure by address",
        "kernel/campaigns/retry_chunks.py",
        resources("address_erasure", "a_retry_sends_nothing_to_whom_was_erased"),
    ): [
        ("erased-is-tried-again", "None if failed.recipient else ERASED", "None"),
    ],
    ("erasure by address", "domain/people/sought.py", resources("address_erasure")): [
        ("part-of-an-address", "(?<![\\w.%+-])(?<!\\w')", ""),
        ("longer-domain", "(?![\\w-]|\\.\\w)", ""),
    ],
    ("audiences: exclusions", "domain/people/audience.py", resources("filters_in_use")): [
        (
            "filter-lets-the-excluded-in",
            "return both(*self.filters, *self.without) if",
            "return both(*self.filters) if",
        ),
    ],
    ("audiences: exclusions", "kernel/people/audience_chunks.py", resources("filters_in_use")): [
        ("named-lets-the-excluded-in", "yield both(NamedContacts(ids), *audience.without)", "yield NamedContacts(ids)"),
    ],
    ("audiences: exclusions", "kernel/start/enroll.py", resources("filters_in_use")): [
        ("enrolling-lets-the-excluded-in", "if not self.audience.without:", "if True:"),
    ],
    ("audiences: their moment", "kernel/campaigns/contact_chunks.py", resources("filters_in_use")): [
        ("a-run-asks-as-at-its-deploy", "now=run.begins_at,", "now=run.created_at,"),
    ],
    ("isolation: audiences", "storage/sql/contact_parts.sql", (*REACHES, *ENROLLS)): [
        (
            "audience-all",
            f"{OURS} and c.deleted_at is null\n   and c.id",
            f"{ANYBODYS} and c.deleted_at is null\n   and c.id",
        ),
        (
            "audience-status",
            f"{OURS} and c.deleted_at is null\n   and c.status",
            f"{ANYBODYS} and c.deleted_at is null\n   and c.status",
        ),
        ("audience-company", f"{OURS}\n   and lower(c.company)", f"{ANYBODYS}\n   and lower(c.company)"),
        ("audience-tag", "t.workspace_id = :workspace and t.tag", ":workspace::text is not null and t.tag"),
    ],
    ("isolation: audiences", "storage/sql/contact_parts.sql", NAMED): [
        (
            "audience-named",
            f"{OURS}\n   and c.deleted_at is null and c.id",
            f"{ANYBODYS}\n   and c.deleted_at is null and c.id",
        ),
    ],
    ("tenants: shares of a server", "http/fair_pool.py", security("tenant_floods")): [
        ("tenant-takes-all-that-is-free", "self._held[tenant] + amount > self.free", "amount > self.free"),
    ],
    ("tenants: shares of a server", "http/rate.py", ("tests/http/test_requests.py",)): [
        ("keys-buy-credit", "if key.left >= 1 and tenant.left > -most:", "if key.left >= 1:"),
        ("nothing-kept-for-a-key", "if key.left >= 1 and tenant.left > -most:", "if False:"),
    ],
    ("tenants: wrong keys", "http/tries.py", security("guessed_keys")): [
        ("wrong-keys-of-an-address", "tries.left < 1 or self._all.left < 1", "self._all.left < 1"),
        ("wrong-keys-of-all", "tries.left < 1 or self._all.left < 1", "tries.left < 1"),
    ],
    ("tenants: wrong keys", "http/guesses.py", security("guessed_keys")): [
        ("right-key-locked-out", " or await known.may_be_live(secret):", ":"),
    ],
    ("tenants: the operator", "domain/roles.py", ("tests/http/test_permissions.py",)): [
        (
            "administrator-makes-operators",
            "Role.OPERATOR not in given or may(roles, Permission.OPERATE_INSTALLATION)",
            "given is given",
        ),
    ],
    ("tenants: the operator", "http/access.py", security("operational_numbers")): [
        (
            "everybody-is-the-operator",
            "return may(self.identity.roles, Permission.OPERATE_INSTALLATION)",
            "return True",
        ),
    ],
    ("awake", "kernel/templates.py", ("tests/security/test_awake.py",)): [
        ("no-budget-for-templates", "_markup(sources) > MOST_MARKUP_CHARS:", "False:"),
        ("parsed-here", "<= CHEAP_MARKUP_CHARS:\n        return {}", "<= MOST_MARKUP_CHARS:\n        return {}"),
    ],
    ("awake", "kernel/process/turns.py", kernel("render_fairness")): [
        ("a-turn-for-each-workspace", "setdefault(workspace.tenant, {})", "setdefault(workspace.name, {})"),
    ],
    ("awake", "http/protocol.py", ("tests/security/test_connections.py",)): [
        ("unread-for-ever", "if left and left >= before:", "if False:"),
        ("any-number-sent-ahead", "if len(self.pipeline) >= MOST_PIPELINED:", "if False:"),
    ],
    ("awake", "http/connections.py", ("tests/security/test_connections.py",)): [
        ("any-number-of-connections", "if self.count > self._limits.most:", "if False:"),
        ("all-from-one-address", "if self._by_address[address] > self._limits.of_an_address", "if False"),
    ],
    ("row security", "storage/database.py", ("tests/security/test_row_security_forced.py",)): [
        ("acts-for-whom-it-did-before", "whom != self._acts_for", "False"),
    ],
    ("row security", "storage/acting.py", ("tests/security/test_row_security_forced.py",)): [
        ("a-resource-acts-for-everyone", 'return ActingFor("", workspace.tenant, workspace.name)', "return EVERYONE"),
    ],
    ("callers' keys", "storage/sql/events.sql", kernel("events", OF_ANOTHER_KEY)): [
        (
            "event-of-another-key",
            "and trigger = :trigger and idempotency_key = :key;",
            "and (:trigger, :key) <> ('', '');",
        ),
    ],
    (
        "callers' keys",
        "kernel/start/trigger.py",
        (f"tests/storage/test_trigger_function.py::test_{TAKEN_FOR_A_REPEAT}",),
    ): [
        ("key-of-another-is-a-repeat", "if key not in found:", "if False:"),
    ],
    ("row security", "storage/schema.sql", ("tests/security/test_row_security_forced.py",)): [
        ("policies-are-not-forced", "when not forced or not one.of_tenant", "when true or not one.of_tenant"),
        ("settings-outlive-a-function", "coalesce(before[2], '')", "coalesce(before[2], 'acme')"),
    ],
    ("sealed secrets", "storage/sql/reseal.sql", ("tests/security/test_rotation.py",)): [
        ("what-was-set-meanwhile-is-lost", " and {sealed_column} = :sealed", " and (true or :sealed is null)"),
    ],
    ("people", "http/session_cookie.py", security("sessions")): [
        ("change-without-csrf", "if not hmac.compare_digest(given", "if False and not hmac.compare_digest(given"),
        ("cookie-for-any-page", "if urlsplit(origin).netloc not in", "if False and urlsplit(origin).netloc not in"),
        ("cookie-of-a-neighbour", "return SECURE_COOKIE if is_secure(request) else COOKIE", "return COOKIE"),
        ("one-csrf-token-for-all", "hmac.digest(token.encode()", 'hmac.digest(b"one"'),
    ],
    ("people", "http/sessions.py", security("sessions")): [
        (
            "sign-in-by-any-page",
            "check_origin(request, api_of(request).people)\n    with api_of(request)"
            ".sign_in_tries.spending(request.scope, f",
            "with api_of(request).sign_in_tries.spending(request.scope, f",
        ),
    ],
    ("people", "http/sign_in_tries.py", security("sessions")): [
        ("any-number-of-tries", "if kept.take(tries):", "if kept.take(tries) or True:"),
    ],
    ("people", "http/users.py", security("sessions")): [
        ("administrator-manages-operators", "if not may_give(", "if False and not may_give("),
    ],
    ("people", "http/access.py", security("sessions")): [
        (
            "stream-outlives-its-session",
            "return found is None or not may(found.roles",
            "return False and not may(found.roles",
        ),
    ],
    ("people", "resources/sessions.py", security("sessions")): [
        ("session-from-before-lasts", "        if browser.before:\n", "        if False and browser.before:\n"),
        (
            "unknown-address-costs-nothing",
            "is_right = await self._passwords",
            "is_right = found is not None and await self._passwords",
        ),
        ("link-works-twice", "if await users.use_link(tx, digest=digest, now=now) is None:", "if False:"),
        (
            "reset-keeps-sessions",
            "await sessions.end_sessions(tx, tenant=tenant, user_id=id)\n\n\ndef _administers",
            "pass\n\n\ndef _administers",
        ),
        ("reset-without-a-password", "if given.password is None and needs_password:", "if False:"),
    ],
    ("people", "resources/users.py", security("sessions")): [
        ("promotion-keeps-links", "(_operates(workspaces) and not is_operator(before))", "False"),
        ("changes-are-not-noticed", "        self.memory.forget()\n", ""),
    ],
    ("people", "resources/session_memory.py", security("sessions")): [
        ("any-workspace-opens", "if named is None or named not in self.roles:", "if named is None:"),
    ],
    ("people", "domain/people/users.py", security("sessions")): [
        ("letters-of-others", "if any(not one.isascii()", "if False and any(not one.isascii()"),
    ],
    ("people", "resources/passwords.py", security("sessions")): [
        ("any-number-of-hashes", "AT_ONCE = 2", "AT_ONCE = 2_000"),
    ],
    ("people", "storage/sql/sessions.sql", (*security("sessions"), "tests/http/test_sessions.py")): [
        ("idle-session-lasts", "s.expires_at > :now and s.used_at + s.idle_after > :now", "s.expires_at > :now"),
    ],
    ("people", "storage/sql/sessions.sql", ("tests/http/test_oidc.py",)): [
        ("disabled-person-stays", " and u.disabled_at is null;", ";"),
    ],
    ("people", "http/oidc.py", ("tests/http/test_oidc.py",)): [
        (
            "answer-to-another-sign-in",
            "if not hmac.compare_digest(flow.state",
            "if False and not hmac.compare_digest(flow.state",
        ),
        ("sent-to-another-site", 'given[1:2] in ("/", "\\\\")', "False"),
        ("another-issuer-answers", "if iss is not None and iss != issuer.login.issuer:", "if False:"),
    ],
    ("people", "http/id_tokens.py", ("tests/http/test_oidc.py",)): [
        ("any-algorithm", "if not any(_is_signed(", "if False and not any(_is_signed("),
        ("token-of-another-issuer", 'claims.get("iss") != issuer', "False"),
        ("token-for-another-client", "client_id not in clients", "False"),
        ("token-of-another-sign-in", 'claims.get("nonce") != nonce', "False"),
        ("token-that-is-past", "ends + CLOCK_SECONDS <= at", "False"),
        ("unverified-address", 'or claims.get("email_verified") is not True', ""),
    ],
    ("hours", "domain/campaigns/campaign.py", domain("campaign")): [
        ("second-of-two-hours", "        return earlier\n", "        return later\n"),
    ],
    ("hours", "domain/sequences/step_time.py", domain("sequence")): [
        ("second-of-two-hours-of-a-step", "local.time().replace(fold=0)", "local.time().replace(fold=1)"),
    ],
    ("vendors", "providers/vendors/fcm.py", vendor("fcm")): [
        ("fcm-keeps-a-token-that-is-gone", "return Rejected(reason, is_gone=True)", "return Rejected(reason)"),
        ("fcm-internal-is-a-refusal", 'case "INTERNAL" | "UNSPECIFIED_ERROR":', 'case "NEVER":'),
    ],
    ("vendors", "providers/vendors/bluesky.py", vendor("bluesky")): [
        ("a-taken-name-is-a-refusal", "if answer.status == 409 or ", "if "),
        ("an-ended-session-is-kept", 'if answer.fields.get("error") in _ENDED:', "if False:"),
    ],
    ("vendors", "providers/vendors/twilio/records.py", vendor("twilio")): [
        ("a-date-without-a-zone-breaks-the-look-up", "at if at.tzinfo else at.replace(tzinfo=UTC)", "at"),
    ],
    ("content: chats", "domain/rules/routing.py", kernel("rules_for_chats")): [
        ("one-place-twice", "found.setdefault(address.casefold(), made)", "found.setdefault(str(place), made)"),
        (
            "an-empty-place-is-called",
            "    if address:\n        return replace(",
            "    if True:\n        return replace(",
        ),
    ],
    ("content: chats", "domain/sequences/form.py", resources("sequences_for_chats")): [
        ("a-step-forgets-where-it-goes", "tuple(self.to or ([place]", "tuple(([place]"),
    ],
    ("vendors", "providers/vendors/vonage.py", vendor("vonage")): [
        ("vonage-half-a-message-is-a-refusal", "if len(refused) < len(parts):", "if False:"),
    ],
    ("vendors", "providers/vendors/whatsapp_cloud.py", vendor("whatsapp_cloud")): [
        ("whatsapp-doubt-is-a-refusal", "if code in _UNCERTAIN or answer.is_success:", "if answer.is_success:"),
    ],
    ("vendors", "domain/flow/hosts.py", kernel("webhook_hosts")): [
        (
            "one-receiver-rests-all",
            "(channel is Channel.FUNCTION or isinstance(provider, HasHosts))",
            "channel is Channel.FUNCTION",
        ),
    ],
    ("vendors", "kernel/gate/outages.py", kernel("webhook_hosts")): [
        ("silent-receivers-never-rest", "if call.item.channel in HOSTED_CHANNELS:", "if False:"),
    ],
    ("connections: limits", "kernel/gate/limits.py", kernel("connection_limits")): [
        ("a-full-limit-lets-all-through", "if places.granted < len(some):", "if False:"),
    ],
    ("content: templates", "resources/templates.py", resources("templates")): [
        ("a-used-template-is-deleted", "if shown.users:", "if False:"),
        ("drafts-use-nothing", "if id not in keeping]", "if False]"),
    ],
    ("drafts", "kernel/start/publish.py", http("drafts")): [
        ("a-draft-is-published-over-what-it-never-saw", "if newest != drafted.base:", "if False:"),
    ],
    ("drafts", "resources/drafts.py", http("drafts")): [
        (
            "a-draft-is-saved-over-what-it-never-saw",
            "if revision is not None and revision != (found.revision if found else 0):",
            "if False:",
        ),
        ("a-draft-begins-from-no-version", "if base is not None and not 0 <= base <= newest:", "if False:"),
    ],
    ("failures", "resources/failures.py", resources("failures")): [
        ("a-replay-of-one-group-takes-all", "if failure_id(failure_text(one.error)) == id:", "if True:"),
        ("a-dry-run-starts-retries", "if dry_run or not plan.count:", "if not plan.count:"),
    ],
    ("doubt", "resources/outbox.py", resources("resolving_many")): [
        (
            "doubt-ends-with-every-provider",
            "if self.provider is not None and self.provider not in {item.provider, item.connection}:",
            "if False:",
        ),
        (
            "young-doubt-ends-too",
            "return self.older_than is None or (item.first_called_at or item.created_at) <= now - self.older_than",
            "return True",
        ),
        ("unnamed-doubt-ends-too", "(named is None or one.id in named) and where.admits", "where.admits"),
        ("a-dry-run-ends-doubt", "for item in () if dry_run else found:", "for item in found:"),
    ],
    ("contacts", "resources/contact_import.py", http("contacts")): [
        ("a-dry-run-stores-a-file", "store = foresee if self.dry_run else upsert", "store = upsert"),
    ],
    ("contacts", "resources/contact_story.py", resources("contact_story")): [
        (
            "a-story-tells-enrollments-twice",
            "for one in executions.items if one.id not in walks",
            "for one in executions.items",
        ),
    ],
    ("content: numbers", "kernel/flow/plan.py", resources("phone_regions")): [
        ("a-workspaces-country-is-not-asked", "with NumbersOf(kernel.regions.of(case.loaded.workspace)):", "if True:"),
    ],
    ("content: numbers", "resources/contact_import.py", resources("phone_regions")): [
        ("an-import-knows-no-country", "with self._numbers:", "if True:"),
    ],
}


def every_break() -> list[Break]:
    """Those that are listed here, and those that are found in SQL."""
    listed = [
        Break(name, guards, file, text, replacement, tests)
        for (guards, file, tests), entries in TABLE.items()
        for name, text, replacement in entries
    ]
    return [*listed, *every_fence()]
