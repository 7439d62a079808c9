// Inputs and replies of the calls under /console, shared by the server and the web console. They use a session cookie
// instead of a key and are not part of the contract (behaviour/operations.md#console-sign-in).
import { DateTime, nullable, oneOf, type Static, Type } from '#api/contract/kit.ts'
import { type AnyId, type Group, groups, type Plan, plans } from '#api/contract/routes.ts'
import type { FundingRecord } from '#api/contract/wire/explorer.ts'
import type { Quote } from '#api/contract/wire/fx.ts'
import type { SignedReceipt } from '#api/contract/wire/fx-extensions.ts'
import type { Trade } from '#api/contract/wire/fx-trades.ts'
import type { Network } from '#api/contract/wire/networks.ts'
import type { AddressLabel } from '#api/contract/wire/trail.ts'
import type { StreamPasses } from './stream-passes.ts'

/** GET, POST and DELETE /console/session. */
export interface ConsoleSession {
  readonly signedIn: boolean
  /** Only when signed in. */
  readonly expiresAt?: string
  /** Which interfaces are served, and under which host name (empty: any). Also without a session. */
  readonly groups: Readonly<Record<Group, { readonly enabled: boolean; readonly host: string }>>
  /** Only while the server runs the demo: a key for everyone. Also without a session. */
  readonly demoKey?: string
  /** Chains of the explorer in the order of the configuration. Also without a session. */
  readonly chains: readonly { readonly id: string; readonly name: string }[]
  /**
   * Networks of validators in the order of the configuration, with their execution chains; null: it is not known yet. Also
   * without a session.
   */
  readonly networks: readonly { readonly name: Network; readonly chain: string | null }[]
}

/** POST /console/key: the key that the pages use, the same until the session ends. */
export interface ConsoleKey {
  readonly key: string
  readonly expiresAt: string
}

/** A key, without its secret. */
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
  /** After a rotation with an overlap: the old secret works until then. */
  readonly oldSecretUntil: string | null
}

/** GET /console/keys?find=words&page=1, both optional: newest first, without keys of sessions. */
export interface KeyList {
  readonly keys: readonly KeyView[]
  /** On all pages. */
  readonly total: number
  readonly pageSize: number
}

const Groups = Type.Array(oneOf(groups), { maxItems: groups.length })
const closed = { additionalProperties: false }

/** POST /console/keys. */
export const NewKeyInput = Type.Object(
  {
    name: Type.String(),
    plan: oneOf(plans),
    /** Default: all. */
    groups: Type.Optional(Groups),
    /** With time zone; default: never. */
    expiresAt: Type.Optional(DateTime),
    admin: Type.Optional(Type.Boolean()),
  },
  closed,
)
export type NewKeyInput = Static<typeof NewKeyInput>

/** POST /console/keys/{id}: absent members stay unchanged. */
export const KeyChangeInput = Type.Object(
  {
    name: Type.Optional(Type.String()),
    plan: Type.Optional(oneOf(plans)),
    /** Null: all. */
    groups: Type.Optional(nullable(Groups)),
    /** Null: never. */
    expiresAt: Type.Optional(nullable(DateTime)),
    admin: Type.Optional(Type.Boolean()),
  },
  { ...closed, minProperties: 1 },
)
export type KeyChangeInput = Static<typeof KeyChangeInput>

/** POST /console/keys/{id}/secret. */
export const RotationInput = Type.Object(
  {
    /** Required for a revoked key, which then works again. */
    restore: Type.Optional(Type.Boolean()),
    /** With time zone, at most 90 days ahead; default: the old secret stops working at once. */
    oldSecretUntil: Type.Optional(DateTime),
  },
  closed,
)
export type RotationInput = Static<typeof RotationInput>

/** Reply of both calls that create a secret. The key is shown only here. */
export interface NewKeyReply {
  readonly id: string
  readonly key: string
  readonly oldSecretUntil?: string
}

export interface CallTally {
  readonly accepted: number
  /** By error code: `limit.second`, `limit.day`, `plan.too_low`, `key.group`. */
  readonly refused: Readonly<Record<string, number>>
}

/** GET /console/keys/{id}/usage?days=30, with `anonymous` for calls without a key: days with calls, newest first. */
export interface KeyUsage {
  readonly id: string
  /** First and last requested UTC day, `2026-11-15`. */
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

/** One stream of data, as in /coverage. */
export interface StreamView {
  readonly group: Group
  /** `chain 1`, `network mainnet`, `rates desk`, `feed main`. */
  readonly name: string
  /** Known blocks or epochs, half-open. Null for rates and feeds. */
  readonly from: number | null
  readonly until: number | null
  /** How many of them have been read. */
  readonly read: number | null
  /** The first ranges that have not been read. `reason`: why not, with the names of nodes; only for operators. */
  readonly gaps: readonly { readonly from: number; readonly until: number; readonly reason?: string }[]
  readonly gapsCount: number
  /**
   * Where reading ends, exclusive: the newest final block that a node reported, or the newest epoch that can be final.
   * Null here and below: not known, or rates and feeds.
   */
  readonly target: number | null
  /** How much has been read from `from` to `target`, from 0 to 1, rounded down to four decimals. */
  readonly share: number | null
  /** Blocks or epochs up to `target` that have not been read. */
  readonly remaining: number | null
  /** Blocks or epochs per second that were stored in the last 15 minutes, by any process. */
  readonly perSecond: number | null
  /** Until everything is read, at the present rate. The head moves on meanwhile; this is included. */
  readonly remainingSeconds: number | null
  /** Time since the newest data was made, or since the start of the last complete pass of a feed. Null: not known. */
  readonly ageSeconds: number | null
  /** No gap in what was read. How much of all that is: `share`. */
  readonly gapless: boolean
  /** Not older than allowed, and not `behind`. Null: the stream is not syncing. */
  readonly fresh: boolean | null
  /**
   * Of an indexed chain after the Amsterdam fork: the blocks that were read from logs, and the first ranges of them. The
   * other blocks were read from traces, also those whose logs contradicted them (`contradicted`, since the start). Of
   * `unverifiedHeaders`, the header has fields that are not known (since the start).
   */
  readonly logs?: {
    readonly blocks: number
    readonly ranges: readonly { readonly from: number; readonly until: number }[]
    readonly contradicted: number
    readonly unverifiedHeaders: number
  }
  /** Of a chain or network with several nodes. While they disagree, nothing is stored. */
  readonly nodes?: 'agree' | 'disagree' | 'not compared'
  /** Of a rate source or a feed that is being read: whether it is read as often as configured. */
  readonly passes?: StreamPasses
  /** Of a network or chain: the next fork that its nodes schedule, and whether this version of Tetrad supports it. */
  readonly nextFork?: {
    readonly name: string
    /** Null: of a chain. */
    readonly epoch: number | null
    readonly at: string
    readonly supported: boolean
    /** Not all of its nodes, or not both of its layers, schedule it for this time. */
    readonly differs: boolean
  }
  /** Of a network: what takes long at present, such as the download of the first state. */
  readonly step?: string
  /** The last errors of its nodes, source or feed, and what is wrong with its data; only for operators. */
  readonly problem?: string
  /** Only in the overview, if this process reads the stream. */
  readonly progress?: ProgressView
  /**
   * `gaps`: data is missing and nothing reads it. `catching up`: behind, but making progress. `stale`: behind without
   * progress, or every read of a chain fails. `behind`: each pass over it takes longer than its interval. `on demand`: a chain that is searched on request. `not syncing`: data
   * without a node or source, or a `push` source before its first rate.
   */
  readonly status: 'healthy' | 'catching up' | 'behind' | 'stale' | 'gaps' | 'on demand' | 'waiting' | 'not syncing'
}

/** Progress of one stream in this process. */
export interface ProgressView {
  readonly unit: 'blocks' | 'epochs' | 'records'
  /** Since the start of the server. */
  readonly done: number
  /** Over the last minute or so. */
  readonly perSecond: number
  /** Still to be read; null if unknown. */
  readonly remaining: number | null
}

/** GET /console/overview. */
export interface Overview {
  readonly at: string
  readonly version: string
  readonly startedAt: string
  /** `required: false`: the server is ready even if this check fails. */
  readonly checks: readonly {
    readonly name: string
    readonly ok: boolean
    readonly message: string
    readonly required?: false
  }[]
  readonly streams: readonly StreamView[]
  readonly engine: string
}

/** Values of one interface, or of all, one entry for each time. */
export interface TrafficHistory {
  /** Requests per second. */
  readonly requests: readonly number[]
  /** Responses per second that failed because of the server or a source: status 500 and above. */
  readonly errors: readonly number[]
  /** Responses per second that refused the request: status 400 to 499 with an error code. */
  readonly refused: readonly number[]
  /** Milliseconds that this share of the responses did not exceed; null without responses. */
  readonly p50: readonly (number | null)[]
  readonly p95: readonly (number | null)[]
  readonly p99: readonly (number | null)[]
}

export interface HistoryRange {
  /** End of each step, in Unix seconds. */
  readonly times: readonly number[]
  readonly traffic: Readonly<Record<Group | 'all', TrafficHistory>>
  /** Age of the newest data of each stream, in seconds; null: not known. */
  readonly lag: readonly {
    readonly group: Group
    readonly stream: string
    readonly seconds: readonly (number | null)[]
  }[]
}

/** GET /console/history: the last hour by minute and the last day by quarter of an hour, since the server started. */
export interface ServerHistory {
  readonly hour: HistoryRange
  readonly day: HistoryRange
}

/** GET /console/quotes?page=1: quotes of all keys, newest first. */
export interface QuoteList {
  readonly quotes: readonly (Pick<Quote, 'id' | 'from' | 'to' | 'rate' | 'fee' | 'createdAt' | 'expiresAt'> & {
    readonly keyId: string
  })[]
  readonly hasMore: boolean
}

/** GET /console/quotes/{id}: a quote of any key. */
export interface StoredQuote {
  readonly quote: Quote
  readonly receipt: SignedReceipt
}

/** What the operator has changed about pricing. */
export interface OverrideView {
  /** Such as EURC/USDC, for both directions; `all`: every pair. */
  readonly pair: string
  /** There are no quotes. */
  readonly paused: boolean
  /** Instead of the spread of terms and rules; null: no other spread. */
  readonly spreadBps: string | null
  readonly changedAt: string
  readonly changedBy: string
}

/** GET /console/fx/overrides, and the reply of POST. */
export interface OverrideList {
  readonly overrides: readonly OverrideView[]
}

/** POST /console/fx/overrides: changes what is given. */
export const OverrideInput = Type.Object(
  {
    pair: Type.String({ maxLength: 33 }),
    paused: Type.Optional(Type.Boolean()),
    spreadBps: Type.Optional(nullable(Type.String({ pattern: '^\\d{1,4}(\\.\\d{1,2})?$' }))),
  },
  { additionalProperties: false },
)

/** A trade of any key, without its signature. */
export interface TradeView extends Trade {
  readonly keyId: string
  /** Who reported its settlement; null: no report. */
  readonly reportedBy: string | null
}

/** GET /console/fx/trades?status=accepted&before=id, both optional: newest first. */
export interface TradeList {
  readonly trades: readonly TradeView[]
  readonly hasMore: boolean
}

/** POST /console/fx/trades/{id}: reports its settlement, and returns it. */
export const TradeReportInput = Type.Object(
  {
    status: oneOf(['settled', 'failed']),
    settlementTransactionHash: Type.String({ pattern: '^0x[0-9a-fA-F]{64}$' }),
  },
  { additionalProperties: false },
)

/** GET /console/alerts. */
export interface AlertsView {
  /** Ids of the webhooks in the settings. */
  readonly webhooks: readonly string[]
  /** Networks with a watch list: how many validators it has, and the first of them. */
  readonly watched: readonly {
    readonly network: Network
    readonly total: number
    readonly indices: readonly number[]
  }[]
  /** Alerts that were sent and have not ended, at most 1000. */
  readonly open: readonly {
    readonly network: Network
    readonly webhook: string
    /** Such as `attestations_missed`. */
    readonly event: string
    readonly validatorIndex: number
    readonly sinceEpoch: number
  }[]
}

/** POST /console/alerts/{webhook}/test: sends a signed test event now. */
export interface TestAlertReply {
  readonly isDelivered: boolean
  /** For people: the status of the webhook, or why it did not accept the event. */
  readonly message: string
}

/** A label of an address and when it was last changed. */
export interface StoredLabel extends AddressLabel {
  readonly updatedAt: string
}

/** The earliest known transfer to an address. */
export interface StoredFunding extends FundingRecord {
  readonly chainid: string
  /** The funded address. */
  readonly address: string
  readonly label?: AddressLabel
  /** Label of the funding address. */
  readonly funderLabel?: AddressLabel
  readonly finality: 'finalized' | 'head'
}

/** GET /console/explorer/entities/{slug}, with a key: an entity of the label registry. */
export interface EntityView {
  readonly slug: string
  readonly chains: readonly {
    readonly chainid: string
    readonly name: string
    readonly description: string
    readonly notes: string
    readonly updatedAt: string
    /** Which blocks have been read: `complete`, `none`, or their ranges. Null: the server does not have this chain. */
    readonly coverage: string | null
  }[]
  /** The first ones of each chain. */
  readonly addresses: readonly {
    readonly chainid: string
    readonly address: string
    readonly labels: readonly StoredLabel[]
  }[]
  readonly hasMoreAddresses: boolean
  /** Addresses that these addresses funded first, newest first. Null: the server has no `explorer.reverseLookups`. */
  readonly funded: readonly StoredFunding[] | null
  readonly hasMoreFunded: boolean
}

/** The fields of the entity of a validator. */
export type EntityFieldName = 'pool' | 'operators' | 'dvt'

/** A value of one field, on these chain days. */
export interface EntityPeriod {
  readonly fromDay: number
  /** The day after the last one; null: the period has not ended. */
  readonly untilDay: number | null
  /** The pool or the DVT network; null for node operators. */
  readonly name: string | null
  readonly subpool: string | null
  readonly operators: readonly string[]
  /** What named it: a rule, a registry on the chain or a label. */
  readonly kind: 'rule' | 'registry' | 'label'
  /** The configuration, or the name of an import. */
  readonly source: string
  /** What selected the validator, such as `withdrawalAddress`. */
  readonly rule: string
}

export interface ExplainedRule {
  readonly kind: EntityPeriod['kind']
  readonly source: string
  readonly selector: string
  readonly value: string
  readonly pool: string | null
  readonly subpool: string | null
  readonly nodeOperators: readonly string[] | null
  readonly dvtNetwork: string | null
  readonly dvtOperators: readonly string[] | null
  readonly fromDay: number | null
  readonly untilDay: number | null
  /** The fields of the present entity that this rule names. */
  readonly names: readonly EntityFieldName[]
}

/** GET /console/validators/{network}/{validator}/entity, with a key: what names the entity of a validator, and since when. */
export interface ExplainedEntity {
  readonly validatorIndex: number
  readonly validatorPubkey: string
  readonly withdrawalAddress: string | null
  /** The first chain day that is not over; null: no epoch has been read. */
  readonly currentDay: number | null
  /** Newest first. */
  readonly periods: Readonly<Record<EntityFieldName, readonly EntityPeriod[]>>
  /** All rules that select the validator. The first one that names a field wins. */
  readonly rules: readonly ExplainedRule[]
}

/** GET /console/explorer/labels/{chain}, with a key: how many addresses have a label. */
export interface LabelCounts {
  readonly chainid: string
  /** Counted up to 100 000. */
  readonly addresses: number
  readonly hasMoreAddresses: boolean
}

/** GET /console/explorer/transactions/{hash}, with a key: the first fundings in a transaction. */
export interface TransactionView {
  readonly hash: string
  readonly fundings: readonly StoredFunding[]
  readonly hasMore: boolean
}
