// Endpoint of group C beyond the specification: what validators earned, and what else changed their balances, by day
// (behaviour/validators.md#income).
import {
  Address,
  BigWhole,
  boolean,
  Count,
  endpoint,
  every,
  many,
  nullable,
  type Static,
  Text,
  Type,
  Whole,
} from '../kit.ts'
import { namedMax, network, Pubkey, ValidatorIndex } from './validators.ts'

const incomeDescriptions = {
  attestationRewards: 'Rewards for attestations of this day.',
  syncRewards: 'Rewards for sync committee signatures.',
  blockRewards: 'Consensus rewards of own blocks.',
  penalties: 'Penalties for attestations and sync signatures, zero or negative.',
  slashings:
    'Penalties for being slashed, zero or negative: at once, and the later one in proportion to all slashings.',
  shift:
    'Attestations count for the day of the vote, but are paid up to two epochs later: payments of this day for the day before, minus payments of the next day for this one.',
  earnings: 'Sum of the six fields before: what the consensus layer added to the balances.',
  deposits: 'Deposits that were credited. Negative: a balance above 32 ETH went back to the queue of deposits.',
  withdrawals: 'Withdrawals, zero or positive.',
  consolidations: 'Balances that came from other validators; negative: that went to others.',
  balanceChange: '`earnings`, `deposits` and `consolidations` minus `withdrawals`.',
} as const
/** All in gwei. */
export const incomeAmounts = Object.keys(incomeDescriptions) as (keyof typeof incomeDescriptions)[]

const executionDescriptions = {
  priorityFees: 'Priority fees of own blocks. Null: not known for all epochs. They are not part of balances.',
  mev: 'Execution rewards of own blocks beyond priority fees. Null: not known for all epochs.',
} as const
export const executionIncome = Object.keys(executionDescriptions) as (keyof typeof executionDescriptions)[]

const amounts = {
  ...every(BigWhole, incomeAmounts, incomeDescriptions),
  ...every(nullable(BigWhole), executionIncome, executionDescriptions),
}

/** Amounts are in gwei. */
export const IncomeDay = Type.Object({
  day: { ...Whole, description: 'Number of the day since genesis, or of the UTC day since 1970.' },
  date: { ...Text, description: 'Date on which the day begins, in UTC.' },
  startEpoch: { ...Whole, description: 'First epoch of the day that is stored.' },
  endEpoch: { ...Whole, description: 'Last epoch of the day that is stored.' },
  ...amounts,
})
export type IncomeDay = Static<typeof IncomeDay>

const total = {
  ...{ attestationRewards: 2_612_411, syncRewards: 0, blockRewards: 0, penalties: -3_604, slashings: 0, shift: 1_187 },
  ...{ earnings: 2_609_994, deposits: 0, withdrawals: 18_103_771, consolidations: 0, balanceChange: -15_493_777 },
  ...{ priorityFees: 0, mev: 0 },
}

export const income = endpoint('validators.income', {
  summary: 'Income of validators by day: rewards by kind, penalties, and deposits and withdrawals apart.',
  notes:
    'Name the validators in one way: `indices`, `pubkeys`, `pool`, `nodeOperator`, `depositAddress`, `withdrawalAddress` or `watched`, up to 10 000 of them. Amounts are sums over these validators, in gwei. On each day, `balanceChange` is exactly the change of their balances. Only final epochs count. A validator counts from its first deposit until its whole balance is withdrawn.',
  input: Type.Object({
    network,
    indices: Type.Optional(
      many(ValidatorIndex, { minItems: 1, maxItems: namedMax, description: 'Validators by index.' }),
    ),
    pubkeys: Type.Optional(many(Pubkey, { minItems: 1, maxItems: namedMax, description: 'Validators by public key.' })),
    pool: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Name of the pool.' })),
    nodeOperator: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'Name of a node operator.' })),
    depositAddress: Type.Optional({ ...Address, description: 'Sender of a deposit.' }),
    withdrawalAddress: Type.Optional({ ...Address, description: 'Withdrawal address.' }),
    watched: boolean(false, 'Validators on the watch list of this server.'),
    fromDate: Type.Optional(Type.String({ format: 'date', description: 'First date, included.' })),
    toDate: Type.Optional(Type.String({ format: 'date', description: 'Last date, included.' })),
    utc: boolean(true, 'UTC days; false: chain days.'),
  }),
  reply: Type.Object({
    validators: { ...Count, description: 'Number of validators.' },
    days: Type.Array(IncomeDay, {
      description: 'In ascending order. Days without duties and changes of balances have no record.',
    }),
    total: Type.Object(amounts, { description: 'Sums of all days.' }),
  }),
  faults: ['record.not_found', 'validators.not_read', 'validators.windows_changed'],
  example: {
    input: { pool: 'Lantern Pool', fromDate: '2026-11-05', toDate: '2026-11-05' },
    reply: {
      validators: 1,
      days: [{ day: 20_762, date: '2026-11-05', startEpoch: 489_150, endEpoch: 489_374, ...total }],
      total,
    },
  },
})
