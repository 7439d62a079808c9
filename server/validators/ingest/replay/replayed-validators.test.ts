// Epoch transitions since Electra, against the results of the consensus specifications
// (test/recordings/beacon/README.md).
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import type { Block } from '#sources/beacon/block.ts'
import { firstSlotAt, readRules } from '#sources/beacon/consensus.ts'
import { pendingConsolidationsFromJson, pendingDepositsFromJson } from '#sources/beacon/pending.ts'
import { bytesType, containerType, listType, uintType } from '#sources/beacon/ssz-type.ts'
import type { TransitionState } from '#sources/beacon/transition-state.ts'
import { type Validators, validatorsFromJson } from '#sources/beacon/validators.ts'
import type { BlockEffects } from '../rules/block-effects.ts'
import { computeStake } from '../rules/stake.ts'
import { consolidationRecord } from './execution-requests.ts'
import { ReplayedValidators } from './replayed-validators.ts'

interface StateJson {
  readonly validators: readonly { readonly balance: string }[]
  readonly deposits: readonly unknown[]
  readonly consolidations: readonly unknown[]
  readonly slashings: readonly string[]
  readonly depositBalanceToConsume: string
}

interface TransitionCase {
  readonly epoch: number
  readonly finalizedEpoch: number
  /** Of the block with the requests. */
  readonly slot: number
  readonly depositRequests: readonly unknown[]
  readonly consolidationRequests: readonly unknown[]
  readonly before: StateJson
  readonly after: StateJson
}

const packed = readFileSync(new URL('../../../../test/recordings/beacon/transitions.json.zst', import.meta.url))
const { spec, cases } = JSON.parse(zstdDecompressSync(packed).toString()) as {
  spec: Record<string, string>
  cases: readonly TransitionCase[]
}
const rules = readRules(spec)

const uint64 = uintType(8)
const depositRequests = listType(
  containerType({
    ...{ pubkey: bytesType(48), withdrawal_credentials: bytesType(32), amount: uint64 },
    ...{ signature: bytesType(96), index: uint64 },
  }),
  64,
)
const consolidationRequests = listType(
  containerType({ source_address: bytesType(20), source_pubkey: bytesType(48), target_pubkey: bytesType(48) }),
  64,
)

const validatorsOf = ({ validators, deposits, consolidations }: StateJson): Validators => ({
  ...validatorsFromJson(
    validators.map(({ balance, ...validator }, index) => ({ index: String(index), balance, validator })),
    rules.increment,
  ),
  pending: {
    deposits: pendingDepositsFromJson(deposits),
    consolidations: pendingConsolidationsFromJson(consolidations),
  },
})

/** A block without rewards. */
const noEffects: BlockEffects = {
  ...{ slot: 0, proposer: 0, votes: 0, sync: 0, slashings: 0, seats: [], slashed: [], syncSeat: 0 },
}

function blockOf({ slot, ...requests }: TransitionCase): Block {
  return {
    ...{
      fork: 'electra',
      slot,
      proposer: 0,
      root: '0x',
      parentRoot: '0x',
      attestations: [],
      syncBits: new Uint8Array(),
    },
    ...{ proposerSlashings: [], attesterSlashings: [], deposits: [], exits: [], credentialsChanges: [] },
    requests: {
      deposits: depositRequests.fromJson(requests.depositRequests, 'deposits'),
      withdrawals: new Uint8Array(),
      consolidations: consolidationRequests.fromJson(requests.consolidationRequests, 'consolidations'),
    },
  }
}

const transitionOf = ({ before, finalizedEpoch }: TransitionCase): TransitionState => ({
  justification: { bits: [], previousJustified: 0, currentJustified: 0, finalized: finalizedEpoch },
  slashings: Float64Array.from(before.slashings, Number),
  depositBalanceToConsume: Number(before.depositBalanceToConsume),
  syncCommittees: { now: new Uint32Array(), next: new Uint32Array() },
})

const noContext = { finalizedEpoch: 0, sameSlot: [] }

/** The state after the block with requests and two epoch transitions. */
function transition(step: TransitionCase): Validators {
  const { epoch, finalizedEpoch, before } = step
  const [now, after] = [validatorsOf(before), validatorsOf(step.after)]
  const state = new ReplayedValidators(rules, epoch, now, after, transitionOf(step))
  state.applyBlock(blockOf(step), noEffects, noContext)
  for (const at of [0, 1]) {
    const stake = computeStake(rules, epoch + at, state.current())
    state.ejectValidators(epoch + at)
    state.applySlashingPenalties(stake)
    state.applyPendingDeposits(stake, firstSlotAt(rules, finalizedEpoch + at))
    state.applyPendingConsolidations(epoch + at)
    state.updateEffectiveBalances(epoch + at)
  }
  return state.takeSnapshot()
}

test('requests, queues, penalties and effective balances follow the consensus specifications', () => {
  assert.equal(cases.length, 60)
  for (const [at, step] of cases.entries()) {
    const result = transition(step)
    const expected = validatorsOf(step.after)
    assert.equal(result.count, expected.count, `case ${at}`)
    for (const column of ['balance', 'increments', 'credentials'] as const)
      assert.deepEqual([...result[column]], [...expected[column]], `case ${at}, ${column}`)
    const [actual, expectedDeposits] = [result, expected].map(({ pending }) => Buffer.from(pending?.deposits ?? []))
    assert.deepEqual(actual, expectedDeposits, `case ${at}, pending deposits`)
    // Consolidations that the block requests are not computed.
    const consolidations = Buffer.from(result.pending?.consolidations ?? [])
    const remaining = Buffer.from(expected.pending?.consolidations ?? []).subarray(0, consolidations.length)
    assert.deepEqual(consolidations, remaining, `case ${at}, pending consolidations`)
  }
})

const address = (index: number) => `0x${String(index).padStart(40, 'a')}`
const pubkey = (index: number) => `0x${String(index).padStart(96, 'b')}`
const far = '18446744073709551615'

/** Active validators of 32 ETH with an address. */
const validatorJson = (index: number, exit = far) => ({
  ...{ pubkey: pubkey(index), withdrawal_credentials: `0x01${'0'.repeat(22)}${address(index).slice(2)}` },
  ...{ balance: '32000000000', effective_balance: '32000000000', slashed: false, exit_epoch: exit },
  ...{ activation_eligibility_epoch: '0', activation_epoch: '0', withdrawable_epoch: exit === far ? far : '400' },
})
const depositJson = (index: number, gwei: number) => ({
  ...{ pubkey: pubkey(index), withdrawal_credentials: `0x01${'0'.repeat(62)}`, amount: String(gwei) },
  ...{ signature: `0x${'0'.repeat(192)}`, slot: '1' },
})
const stateWith = (validators: StateJson['validators'], deposits: readonly unknown[] = []): StateJson => ({
  ...{ validators, deposits, consolidations: [], slashings: new Array(64).fill('0'), depositBalanceToConsume: '0' },
})
const concat = (...hex: readonly string[]) => Buffer.from(hex.map((part) => part.slice(2)).join(''), 'hex')
const uint64Hex = (value: number) => `0x${Buffer.from(uint64.fromJson(String(value), 'value')).toString('hex')}`

test('a deposit is postponed from the block on in which the exit of its validator begins', () => {
  const empty = new Uint8Array()
  const step = cases[0] as TransitionCase
  const withdrawal = (index: number, sender: number, gwei: number) => ({
    ...{ deposits: empty, consolidations: empty },
    withdrawals: concat(address(sender), pubkey(index), uint64Hex(gwei)),
  })
  const consolidation = (source: number, target: number) => ({
    ...{ deposits: empty, withdrawals: empty },
    consolidations: concat(address(source), pubkey(source), pubkey(target)),
  })
  const postponed: readonly [label: string, block: Partial<Block>, isPostponed: boolean][] = [
    ['a block without an exit', {}, false],
    ['a voluntary exit', { exits: [1] }, true],
    ['the exit of another validator', { exits: [2] }, false],
    ['a request to exit', { requests: withdrawal(1, 1, 0) }, true],
    ['a request of another address', { requests: withdrawal(1, 2, 0) }, false],
    ['a request for a part of the balance', { requests: withdrawal(1, 1, 5) }, false],
    ['a consolidation', { requests: consolidation(1, 2) }, true],
    ['a consolidation into the validator', { requests: consolidation(2, 1) }, false],
  ]
  for (const [label, block, isPostponed] of postponed) {
    const before = validatorsOf(
      stateWith(
        [0, 1, 2].map((index) => validatorJson(index)),
        [depositJson(1, 7)],
      ),
    )
    const after = validatorsOf(stateWith([validatorJson(0), validatorJson(1, '130'), validatorJson(2, '130')]))
    const state = new ReplayedValidators(rules, 100, before, after, transitionOf(step))
    const requests = { deposits: empty, withdrawals: empty, consolidations: empty }
    state.applyBlock({ ...blockOf(step), requests, ...block }, noEffects, noContext)
    state.applyPendingDeposits(computeStake(rules, 100, before), firstSlotAt(rules, 97))
    const { balance, pending } = state.current()
    assert.equal(balance[1], 32_000_000_000 + (isPostponed ? 0 : 7), label)
    assert.equal(pending?.deposits.length, isPostponed ? 192 : 0, label)
  }
})

test('a consolidation stays in the queue if its source is slashed before it can withdraw', () => {
  const empty = new Uint8Array()
  const compounding = { ...validatorJson(2), withdrawal_credentials: `0x02${'0'.repeat(22)}${address(2).slice(2)}` }
  const slashed = { ...validatorJson(1, '106'), slashed: true, withdrawable_epoch: '8292' }
  const [before, after] = [
    validatorsOf(stateWith([validatorJson(0), validatorJson(1), compounding])),
    validatorsOf(stateWith([validatorJson(0), slashed, compounding])),
  ]
  const step = cases[0] as TransitionCase
  const state = new ReplayedValidators(rules, 100, before, after, transitionOf(step))
  const consolidations = concat(address(1), pubkey(1), pubkey(2))
  const requests = { deposits: empty, withdrawals: empty, consolidations }
  state.applyBlock({ ...blockOf(step), slot: firstSlotAt(rules, 100) + 1, requests }, noEffects, noContext)
  const { pending } = state.current()
  assert.deepEqual(Buffer.from(pending?.consolidations ?? []), consolidationRecord(1, 2))
})

test('a deposit that creates no validator is ignored, also if a later one of the same key does', () => {
  // The first deposit of validator 2 has an invalid signature: the registry lists validator 1 before it.
  const deposits = [depositJson(2, 5), depositJson(1, 32_000_000_000), depositJson(2, 1_000_000_000), depositJson(9, 3)]
  const before = validatorsOf(stateWith([validatorJson(0)], deposits))
  const after = validatorsOf(stateWith([0, 1, 2].map((index) => validatorJson(index))))
  const state = new ReplayedValidators(rules, 100, before, after, transitionOf(cases[0] as TransitionCase))
  state.applyPendingDeposits(computeStake(rules, 100, before), firstSlotAt(rules, 97))
  const { count, balance, increments, pending } = state.current()
  assert.deepEqual([count, ...balance], [3, 32_000_000_000, 32_000_000_000, 1_000_000_000])
  assert.deepEqual([...increments], [32, 32, 1])
  assert.equal(pending?.deposits.length, 0)
})

test('a snapshot does not change when further blocks change credentials and balances', () => {
  const step = cases.find(({ before, after }) => typesOf(before) !== typesOf(after)) as TransitionCase
  const state = new ReplayedValidators(
    rules,
    100,
    validatorsOf(step.before),
    validatorsOf(step.after),
    transitionOf(step),
  )
  const snapshot = state.takeSnapshot()
  const columnsOf = ({ balance, credentials, pending }: Validators) =>
    [balance, credentials, pending?.deposits ?? []].map((column) => [...column])
  const before = columnsOf(snapshot)
  state.applyBlock({ ...blockOf(step), credentialsChanges: [0] }, { ...noEffects, votes: 5 }, noContext)
  assert.deepEqual(columnsOf(snapshot), before)
  assert.notDeepEqual(columnsOf(state.takeSnapshot()), before)
})

const typesOf = (state: StateJson): string =>
  [...validatorsOf(state).credentials].filter((_, at) => at % 32 === 0).join('')
