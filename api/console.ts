// What the console's own calls under /console take and answer, as types that the server and the pages share. They are the
// operator's, go by a session cookie instead of a key, and are not part of the contract (behaviour/operations.md#console-sign-in).
import type { AnyId, Group, Plan } from './routes.ts'

/** GET, POST and DELETE /console/session. */
export interface ConsoleSession {
  readonly signedIn: boolean
  /** Only when signed in. */
  readonly expiresAt?: string
  /** Which interfaces are served, and under which host name each (empty: any). For everybody. */
  readonly groups: Readonly<Record<Group, { readonly on: boolean; readonly host: string }>>
  /** Those of the explorer, as the configuration orders and names them. For everybody. */
  readonly chains: readonly { readonly id: string; readonly name: string }[]
}

/** POST /console/key: the key the pages call with; the same one until the session ends. */
export interface ConsoleKey {
  readonly key: string
  readonly expiresAt: string
}

/** A key as an operator may see it. */
export interface KeyView {
  readonly id: string
  readonly name: string
  readonly plan: Plan
  readonly groups: readonly Group[]
  readonly admin: boolean
  readonly state: 'active' | 'revoked' | 'expired'
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly revokedAt: string | null
  readonly lastUsedAt: string | null
}

/** GET /console/keys?find=words&page=1, both may be left out: newest first, those of sessions that have ended left out. */
export interface KeyList {
  readonly keys: readonly KeyView[]
  /** On all pages. */
  readonly total: number
  readonly pageSize: number
}

/** POST /console/keys. */
export interface NewKeyInput {
  readonly name: string
  readonly plan: Plan
  /** Left out: all. */
  readonly groups?: readonly Group[]
  /** ISO 8601 with its zone; left out: never. */
  readonly expiresAt?: string
  readonly admin?: boolean
}

/** POST /console/keys/{id}: what is left out stays. */
export interface KeyChangeInput {
  readonly name?: string
  readonly plan?: Plan
  /** Null: all. */
  readonly groups?: readonly Group[] | null
  /** Null: never. */
  readonly expiresAt?: string | null
  readonly admin?: boolean
}

/** POST /console/keys/{id}/secret. */
export interface RotationInput {
  /** Needed for a key that was revoked, which then works again. */
  readonly restore?: boolean
}

/** What both that make a secret answer: the only time the whole key is shown. */
export interface NewKeyReply {
  readonly id: string
  readonly key: string
}

export interface CallTally {
  readonly admitted: number
  /** By the fault it was refused with: `limit.second`, `limit.day`, `plan.too_low`, `key.group`. */
  readonly refused: Readonly<Record<string, number>>
}

/** GET /console/keys/{id}/usage?days=30, `anonymous` for calls without a key: newest day first, days without calls left out. */
export interface KeyUsage {
  readonly id: string
  /** First and last UTC day that was asked for, `2026-11-15`. */
  readonly from: string
  readonly to: string
  readonly days: readonly (CallTally & {
    readonly day: string
    readonly endpoints: Readonly<Partial<Record<AnyId, CallTally>>>
  })[]
}

/** GET /console/plans, lowest first; 0: no limit. */
export interface PlanList {
  readonly plans: readonly { readonly name: Plan; readonly perSecond: number; readonly perDay: number }[]
}

/** One stream of data, as /coverage tells it. */
export interface StreamView {
  readonly group: Group
  readonly name: string
  readonly from: number | null
  readonly until: number | null
  readonly read: number | null
  readonly holes: readonly { readonly from: number; readonly until: number }[]
  readonly holesCount: number
  readonly ageSeconds: number | null
  readonly complete: boolean
  readonly fresh: boolean | null
  /** All of this in a word. */
  readonly standing: 'well' | 'catching up' | 'stale' | 'holes' | 'on demand' | 'not followed'
}

/** How reading of one stream goes on in this process; `stream` is the name under `streams`. */
export interface ProgressView {
  readonly group: Group
  readonly stream: string
  readonly unit: 'blocks' | 'epochs' | 'records'
  /** Since the start of the server; it only grows. */
  readonly done: number
  /** Over the last minute or so. */
  readonly perSecond: number
  /** Still to be read; null where the end is not known. */
  readonly remaining: number | null
  /** At this speed; null without a speed or an end, 0 when nothing remains. */
  readonly etaSeconds: number | null
  /** When something was last read. */
  readonly lastAt: string | null
}

/** One upstream: a node, a source of rates, a feed. */
export interface SourceView {
  readonly group: Group
  readonly kind: 'node' | 'rates' | 'feed'
  /** `chain 1, node.example:8545`, `network mainnet, node.example`, `desk`, `main`. */
  readonly name: string
  /** Null: nobody has asked it yet. */
  readonly ok: boolean | null
  /** What is wrong, or how it stands, in words; empty when there is nothing to say. Addresses are cut to their host. */
  readonly message: string
  readonly lastTriedAt: string | null
  readonly lastGoodAt: string | null
  /** In a row, up to now. */
  readonly failures: number
  /** How long the last answer took, where it is measured. */
  readonly latencyMs: number | null
}

/** Requests of one endpoint since the start of the server: figures only grow, so two readings give a rate. */
export interface RequestView {
  /** An endpoint's id, a path outside the contract, or `none`. */
  readonly endpoint: string
  /** `ok`, `unchanged`, `nothing`, or a fault's code. */
  readonly outcomes: Readonly<Record<string, number>>
  /** How many answers were timed, and their time together. */
  readonly answered: number
  readonly seconds: number
}

/** GET /console/overview. */
export interface Overview {
  readonly at: string
  readonly version: string
  readonly startedAt: string
  readonly ready: boolean
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly message: string }[]
  readonly streams: readonly StreamView[]
  readonly ingest: readonly ProgressView[]
  readonly sources: readonly SourceView[]
  readonly requests: readonly RequestView[]
  /** Calls refused, by kind, since the start. */
  readonly limited: Readonly<Record<string, number>>
  readonly engine: string
}
