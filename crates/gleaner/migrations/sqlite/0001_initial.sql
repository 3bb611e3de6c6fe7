-- Times are milliseconds since 1970 UTC, ids are 64-bit integers, JSON is text: the same on both databases.

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE users (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT    NOT NULL UNIQUE,
    password_hash TEXT,
    -- Devices that were known before are not known any more.
    password_set_at BIGINT,
    is_admin      BOOLEAN NOT NULL,
    -- The account at an OpenID Connect provider that signs this user in; both or neither are set.
    oidc_issuer   TEXT,
    oidc_subject  TEXT,
    created_at    BIGINT  NOT NULL,
    UNIQUE (oidc_issuer, oidc_subject)
);

CREATE TABLE collections (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT   NOT NULL UNIQUE,
    owner_id   BIGINT NOT NULL REFERENCES users (id),
    -- Visible to its owner and admins only, with its sources.
    private    BOOLEAN NOT NULL DEFAULT FALSE,
    created_at BIGINT NOT NULL
);

-- Encrypted by gleaner; the database never holds a key in the clear.
CREATE TABLE credentials (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_id   BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    service    TEXT   NOT NULL,
    secret     BLOB   NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (owner_id, service)
);

-- One row per host, which gets one request at a time; a host that allows several at once has a row per slot.
-- A lease sets next_due to its own end, so that one index finds both due hosts and abandoned leases.
CREATE TABLE hosts (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    name        TEXT    NOT NULL,
    slot        BIGINT  NOT NULL DEFAULT 0,
    next_due    BIGINT,
    lease_owner TEXT,
    lease_until BIGINT,
    fence       BIGINT  NOT NULL DEFAULT 0,
    hold_until  BIGINT,
    delay_until BIGINT,
    -- Incidents and pacing, as JSON; null where there are none.
    memory      TEXT,
    -- The latest success of one of its sources.
    last_success_at        BIGINT,
    last_success_source_id BIGINT,
    -- Its latest response came within seconds. Hosts that are not quick may not take all places of a worker.
    quick       BOOLEAN NOT NULL DEFAULT FALSE,
    UNIQUE (name, slot)
);
CREATE INDEX hosts_due ON hosts (quick, next_due) WHERE next_due IS NOT NULL;

-- What people set. What gleaner learned is in source_state, which every poll writes and few indexes cover.
CREATE TABLE sources (
    id                    INTEGER PRIMARY KEY AUTOINCREMENT,
    collection_id         BIGINT  NOT NULL REFERENCES collections (id),
    url                   TEXT    NOT NULL,
    canonical_url         TEXT    NOT NULL,
    kind                  TEXT    NOT NULL,
    name                  TEXT,
    poll_interval_minutes BIGINT,
    poll_delay_seconds    BIGINT,
    article_selector      TEXT,
    ignore_selector       TEXT,
    full_content          BOOLEAN NOT NULL,
    backfill              TEXT    NOT NULL,
    ignore_robots         BOOLEAN NOT NULL,
    policy                TEXT,
    duplicates            TEXT,
    secret                BLOB,
    version               BIGINT  NOT NULL,
    created_at            BIGINT  NOT NULL,
    updated_at            BIGINT  NOT NULL,
    UNIQUE (collection_id, canonical_url)
);
-- Lists of a collection or a kind, by id.
CREATE INDEX sources_collection ON sources (collection_id, id);
CREATE INDEX sources_kind ON sources (kind, id);
-- Lists of all, by address.
CREATE INDEX sources_address ON sources (canonical_url, id);

CREATE TABLE source_state (
    source_id            INTEGER PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
    host_id              BIGINT  NOT NULL REFERENCES hosts (id),
    fence                BIGINT  NOT NULL,
    next_poll_at         BIGINT,
    status               TEXT    NOT NULL,
    enabled              BOOLEAN NOT NULL,
    disabled_reason      TEXT,
    consecutive_failures BIGINT  NOT NULL,
    failing_since        BIGINT,
    last_failure_type    TEXT,
    last_error_type      TEXT,
    last_error_cause     TEXT,
    last_error           TEXT,
    last_status_code     BIGINT,
    -- The host incident or network outage that excuses the latest failure; none: it counts, or there is none.
    excused_by           TEXT,
    -- The failures of the row that count, as JSON; none: all were excused, or there are none.
    counted_run          TEXT,
    quarantined_at       BIGINT,
    quarantine_reason    TEXT,
    quarantined_manually BOOLEAN NOT NULL,
    retry_at             BIGINT,
    hold_until           BIGINT,
    last_polled_at       BIGINT,
    last_success_at      BIGINT,
    -- No poll has finished since the source was created, a person enabled it or its URL was changed.
    awaiting_poll        BOOLEAN NOT NULL,
    etag                 BLOB,
    last_modified        BLOB,
    body_hash            BIGINT,
    reader_version       BIGINT,
    hints                TEXT,
    redirect             TEXT,
    cursor               TEXT,
    -- Under the adaptive interval: the source's publishing rhythm, as JSON, and its class.
    adaptive_state       TEXT,
    adaptive_class       BIGINT,
    unchanged_poll_id    BIGINT,
    suspect              TEXT,
    -- Article pages by state, and how many of the latest failed in a row. What follows from that is kept apart from suspect,
    -- so that an index that can be read does not end it.
    pages_waiting        BIGINT  NOT NULL DEFAULT 0,
    pages_failed         BIGINT  NOT NULL DEFAULT 0,
    pages_given_up       BIGINT  NOT NULL DEFAULT 0,
    pages_failed_in_a_row BIGINT  NOT NULL DEFAULT 0,
    pages_suspect        TEXT,
    -- Of a dead feed: when its site was searched for a new address, and what was found, as JSON.
    relocation           TEXT
);
CREATE INDEX source_state_due ON source_state (host_id, next_poll_at);
CREATE INDEX source_state_status ON source_state (status, source_id);
-- Suspect sources, which are few.
CREATE INDEX source_state_suspect ON source_state (source_id) WHERE suspect IS NOT NULL OR pages_suspect IS NOT NULL;
-- Counts sources with an adaptive interval by class.
CREATE INDEX source_state_adaptive ON source_state (adaptive_class, status) WHERE adaptive_class IS NOT NULL;

CREATE TABLE posts (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    source_id    BIGINT  NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    guid         TEXT    NOT NULL,
    url          TEXT,
    title        TEXT,
    author       TEXT,
    published_at BIGINT,
    content_hash BLOB    NOT NULL,
    revision     BIGINT  NOT NULL DEFAULT 1,
    linked       BOOLEAN NOT NULL DEFAULT FALSE,
    -- The key in seen of the entry that it was made from.
    entry_key    BIGINT  NOT NULL,
    -- Whether no other such post of its source may have the same text.
    unique_text  BOOLEAN NOT NULL DEFAULT FALSE,
    created_at   BIGINT  NOT NULL,
    updated_at   BIGINT  NOT NULL,
    body         TEXT    NOT NULL,
    raw_content  TEXT,
    -- Its text is that of its page, not of the feed.
    from_page    BOOLEAN NOT NULL DEFAULT FALSE,
    UNIQUE (source_id, entry_key)
);
CREATE UNIQUE INDEX posts_unique_text ON posts (source_id, content_hash) WHERE unique_text;
-- Clean-up looks only at what it may delete.
CREATE INDEX posts_unlinked ON posts (created_at) WHERE NOT linked;

-- Remembered entries, written only when one appears, changes or vanishes. post_id may outlive its post.
CREATE TABLE seen (
    source_id    BIGINT NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    entry_key    BIGINT NOT NULL,
    link         BIGINT,
    raw          BIGINT NOT NULL,
    title        BIGINT,
    content      BIGINT,
    published_at BIGINT,
    post_id      BIGINT,
    absent_since BIGINT,
    PRIMARY KEY (source_id, entry_key)
) WITHOUT ROWID;
CREATE INDEX seen_absent ON seen (absent_since) WHERE absent_since IS NOT NULL;

-- The poll history. Consecutive unchanged polls share a row.
CREATE TABLE polls (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    source_id     BIGINT NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    first_at      BIGINT NOT NULL,
    last_at       BIGINT NOT NULL,
    count         BIGINT NOT NULL,
    outcome       TEXT   NOT NULL,
    error_type    TEXT,
    error_cause   TEXT,
    error         TEXT,
    status_code   BIGINT,
    duration_ms   BIGINT NOT NULL,
    bytes         BIGINT NOT NULL,
    new_posts     BIGINT NOT NULL,
    updated_posts BIGINT NOT NULL,
    skipped       TEXT,
    note          TEXT,
    rule          TEXT,
    -- Why the failure does not count against the source, where it does not.
    excused       TEXT,
    -- The id of the host incident or network outage.
    excused_by    TEXT,
    -- Article pages that the poll queued, and what came of them.
    pages          BIGINT NOT NULL DEFAULT 0,
    pages_fetched  BIGINT NOT NULL DEFAULT 0,
    pages_failed   BIGINT NOT NULL DEFAULT 0,
    pages_given_up BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX polls_source ON polls (source_id, id);

-- Polls and posts by hour. Slots keep workers from waiting for each other.
CREATE TABLE activity (
    hour   BIGINT NOT NULL,
    slot   BIGINT NOT NULL,
    polls  BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    posts  BIGINT NOT NULL,
    PRIMARY KEY (hour, slot)
) WITHOUT ROWID;

CREATE TABLE articles (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    title        TEXT    NOT NULL,
    body         TEXT    NOT NULL,
    url          TEXT,
    published_at BIGINT,
    is_processed BOOLEAN NOT NULL,
    -- Made from posts of a private collection whose source is deleted since: that collection's owner then.
    private_to   BIGINT,
    created_at   BIGINT  NOT NULL
);
CREATE INDEX articles_unprocessed ON articles (published_at) WHERE NOT is_processed;

CREATE TABLE article_posts (
    article_id BIGINT NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    post_id    BIGINT NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    PRIMARY KEY (article_id, post_id)
) WITHOUT ROWID;
CREATE INDEX article_posts_post ON article_posts (post_id);

-- Pages still to be fetched for a source, as work of the page's own host, and those that were given up.
CREATE TABLE article_work (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    source_id   BIGINT NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    host_id     BIGINT NOT NULL REFERENCES hosts (id),
    -- article, or relocation: a look for the new address of a dead feed.
    purpose     TEXT   NOT NULL,
    -- 0 for work that is no entry's.
    entry_key   BIGINT NOT NULL,
    url         TEXT   NOT NULL,
    draft       TEXT   NOT NULL,
    -- waiting or given_up.
    state       TEXT   NOT NULL DEFAULT 'waiting',
    tries       BIGINT NOT NULL,
    next_try_at BIGINT,
    last_error  TEXT,
    failed_at   BIGINT,
    -- The poll that queued it, whose row may be gone.
    poll_id     BIGINT,
    created_at  BIGINT NOT NULL,
    UNIQUE (source_id, entry_key, purpose)
);
CREATE INDEX article_work_due ON article_work (host_id, next_try_at) WHERE next_try_at IS NOT NULL;
CREATE INDEX article_work_given_up ON article_work (failed_at) WHERE state = 'given_up';

-- Events. One dispatcher assigns seq after the commit: ids commit out of order, and a resumed stream would skip some.
CREATE TABLE outbox (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    seq        BIGINT UNIQUE,
    kind       TEXT   NOT NULL,
    source_id  BIGINT,
    -- The collection that its source was in when it happened. May outlive both.
    collection_id BIGINT,
    payload    TEXT   NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX outbox_unnumbered ON outbox (id) WHERE seq IS NULL;
-- Events other than those of posts are rare, and listed without them.
CREATE INDEX outbox_rare ON outbox (seq) WHERE kind NOT IN ('post.created', 'post.updated');
-- Events of one source.
CREATE INDEX outbox_source ON outbox (source_id, seq) WHERE seq IS NOT NULL;

-- Events up to last_seq were sent or skipped. A lease lets one process at a time send.
CREATE TABLE webhooks (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    owner_id      BIGINT  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name          TEXT    NOT NULL,
    url           TEXT    NOT NULL,
    secret        BLOB    NOT NULL,
    events        TEXT    NOT NULL,
    enabled       BOOLEAN NOT NULL,
    last_seq      BIGINT  NOT NULL,
    failures      BIGINT  NOT NULL DEFAULT 0,
    failing_since BIGINT,
    next_try_at   BIGINT,
    given_up_at   BIGINT,
    lease_owner   TEXT,
    lease_until   BIGINT,
    created_at    BIGINT  NOT NULL,
    updated_at    BIGINT  NOT NULL,
    UNIQUE (owner_id, name)
);

-- Deliveries of events. Without a number: a test.
CREATE TABLE webhook_deliveries (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook_id  BIGINT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event_seq   BIGINT,
    kind        TEXT   NOT NULL,
    status      TEXT   NOT NULL,
    tries       BIGINT NOT NULL,
    status_code BIGINT,
    error       TEXT,
    duration_ms BIGINT,
    created_at  BIGINT NOT NULL,
    tried_at    BIGINT,
    next_try_at BIGINT,
    UNIQUE (webhook_id, event_seq)
);
CREATE INDEX webhook_deliveries_log ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, next_try_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_age ON webhook_deliveries (created_at);

-- Access tokens by their id, login links and feed links by a hash. Revoked ones are deleted.
CREATE TABLE tokens (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id      BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind         TEXT   NOT NULL,
    name         TEXT   NOT NULL,
    key          TEXT   NOT NULL UNIQUE,
    scopes       TEXT   NOT NULL,
    -- The only collections it gives access to, as a JSON array of ids; null: all that its user may see.
    collections  TEXT,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    -- The session that made it, itself or through another token; it may be gone. Null: the command line did.
    made_by_session BIGINT,
    -- Of a session: when its user last proved who they are.
    proved_at    BIGINT,
    UNIQUE (user_id, kind, name)
);

-- Who changed what, and who logged in. Rows are added, and deleted when they are old; failed logins from one address in
-- one hour share a row, whose count grows. Users, tokens and things may be gone: their names are copied.
CREATE TABLE audit (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    first_at    BIGINT NOT NULL,
    last_at     BIGINT NOT NULL,
    count       BIGINT NOT NULL DEFAULT 1,
    user_id     BIGINT,
    user_name   TEXT   NOT NULL,
    via         TEXT   NOT NULL,
    address     TEXT,
    action      TEXT   NOT NULL,
    target_kind TEXT   NOT NULL,
    target_id   BIGINT,
    target_name TEXT   NOT NULL,
    -- What changed, as a JSON object of [before, after] by field; never a secret.
    changes     TEXT,
    fold_key    TEXT   UNIQUE
);
CREATE INDEX audit_age ON audit (last_at);

-- The processes that share this database, as they last reported.
CREATE TABLE workers (
    name               TEXT   PRIMARY KEY,
    role               TEXT   NOT NULL,
    version            TEXT   NOT NULL,
    started_at         BIGINT NOT NULL,
    seen_at            BIGINT NOT NULL,
    hosts              BIGINT NOT NULL,
    polls              BIGINT NOT NULL,
    posts              BIGINT NOT NULL,
    polls_per_hour     BIGINT NOT NULL,
    due_lag_ms         BIGINT,
    network_down_since BIGINT
);

-- Where events are streamed to. Those up to last_seq are with the broker; made and broker_seq are what it said of its own
-- stream. A lease lets one process at a time send.
CREATE TABLE streams (
    name          TEXT   PRIMARY KEY,
    origin        TEXT   NOT NULL,
    last_seq      BIGINT NOT NULL DEFAULT 0,
    made          BIGINT,
    broker_seq    BIGINT NOT NULL DEFAULT 0,
    sent          BIGINT NOT NULL DEFAULT 0,
    sent_at       BIGINT,
    failing_since BIGINT,
    error         TEXT,
    lease_owner   TEXT,
    lease_until   BIGINT
);

-- Answers to requests that must not be carried out twice; no status: it is still under way.
CREATE TABLE idempotency (
    user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    key        TEXT   NOT NULL,
    request    BLOB   NOT NULL,
    status     BIGINT,
    body       BLOB,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

-- The words of posts, to be searched. Filled behind the polls, up to a place in the outbox; holds no text of its own.
CREATE VIRTUAL TABLE post_text USING fts5 (
    words,
    content = '',
    contentless_delete = 1,
    tokenize = 'unicode61 remove_diacritics 0'
);

INSERT INTO meta (name, value) VALUES ('last_seq', '0'), ('posts_indexed_seq', '0');
INSERT INTO users (name, is_admin, created_at) VALUES ('admin', TRUE, 0);
INSERT INTO collections (name, owner_id, created_at) SELECT 'default', id, 0 FROM users;
