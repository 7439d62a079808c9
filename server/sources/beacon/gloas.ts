// What the specification of Gloas fixes and no node lists in `/eth/v1/config/spec`. The specification is still a draft
// (consensus-specs 1.7.0-alpha.13), so everything that may change is here, in block-type.ts (field lists) and in
// state-layout.ts (positions in a state).

/** In a withdrawal, a validator index with this bit is the index of a builder (BUILDER_INDEX_FLAG). */
export const builderFlag = 2 ** 40

/** Sizes of records in bytes. */
export const builderPaymentSize = 52
export const withdrawalSize = 44

/** A builder is paid without a delivered payload if this share of the stake of a slot voted for its block in time. */
export const paymentQuorum = { numerator: 6, denominator: 10 } as const

/** The payload committees in a state: those of the previous epoch, this one and the next. */
export const committeeEpochs = 3

/** The builder index of a bid, or undefined if the proposer built the payload itself (BUILDER_INDEX_SELF_BUILD). */
export const builderOf = (index: number): number | undefined => (Number.isFinite(index) ? index : undefined)

/** The builder that a withdrawal is of; undefined: it is of a validator. */
export const builderIn = (validatorIndex: number): number | undefined =>
  Math.floor(validatorIndex / builderFlag) % 2 === 1 ? validatorIndex - builderFlag : undefined
