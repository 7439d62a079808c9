// Fills gaps of Fulu chains that the consensus specifications computed (test/recordings/beacon/README.md): with RANDAO,
// the proposer lookahead, deposits, exits, slashings, consolidations, partial withdrawals and mixed effective balances.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import type { Attestation, Block, Withdrawal } from '#sources/beacon/block.ts'
import { epochAt, readRules } from '#sources/beacon/consensus.ts'
import { pendingConsolidationsFromJson, pendingDepositsFromJson } from '#sources/beacon/pending.ts'
import { type Validators, validatorsFromJson } from '#sources/beacon/validators.ts'
import { type Carry, processEpoch } from '../epochs/process-epoch.ts'
import { Sums } from '../epochs/sums.ts'
import type { EpochData } from '../read/epoch.ts'
import type { FullState } from './chain-replay.ts'
import { computeDuties } from './compute-duties.ts'
import { type Gap, replayGap } from './replay-gap.ts'

type AttestationJson = Omit<Attestation, 'bits' | 'committeeBits'> & {
  readonly bits: string
  readonly committeeBits: string
}

type Operations = 'proposerSlashings' | 'attesterSlashings' | 'exits' | 'credentialsChanges'

interface BlockJson extends Pick<Block, 'slot' | 'proposer' | 'root' | 'parentRoot' | Operations> {
  readonly attestations: readonly AttestationJson[]
  readonly withdrawals: readonly Withdrawal[]
  readonly prevRandao: string
  readonly syncBits: string
  readonly requests: Readonly<Record<'deposits' | 'withdrawals' | 'consolidations', string>>
}

interface StateJson {
  readonly epoch: number
  readonly validators: readonly { readonly balance: string }[]
  readonly scores: readonly number[]
  readonly deposits: unknown
  readonly consolidations: unknown
  readonly slashings: readonly number[]
  readonly depositBalanceToConsume: number
  readonly bits: readonly boolean[]
  readonly previousJustified: number
  readonly currentJustified: number
  readonly finalized: number
  readonly proposers: readonly number[]
  readonly sync: { readonly now: readonly number[]; readonly next: readonly number[] }
}

const packed = readFileSync(new URL('../../../../test/recordings/beacon/spec-chains.json.zst', import.meta.url))
const { spec, chains } = JSON.parse(zstdDecompressSync(packed).toString()) as {
  spec: Record<string, string>
  chains: readonly { blocks: readonly BlockJson[]; states: readonly StateJson[] }[]
}
const rules = readRules(spec)
const bytesOf = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex.slice(2), 'hex'))

function blockOf(json: BlockJson): Block {
  const { attestations, withdrawals, prevRandao, syncBits, requests, ...block } = json
  const payload = { number: 0, hash: '0x', feeRecipient: '0x', baseFeeWei: 0n, transactions: 1, withdrawals }
  return {
    ...block,
    fork: 'fulu',
    attestations: attestations.map(({ bits, committeeBits, ...attestation }) => ({
      ...attestation,
      bits: bytesOf(bits),
      committeeBits: bytesOf(committeeBits),
    })),
    syncBits: bytesOf(syncBits),
    deposits: [],
    payload: { ...payload, prevRandao: bytesOf(prevRandao), lastTransactions: [] },
    requests: {
      deposits: bytesOf(requests.deposits),
      withdrawals: bytesOf(requests.withdrawals),
      consolidations: bytesOf(requests.consolidations),
    },
  }
}

function stateOf(json: StateJson): FullState {
  const list = json.validators.map(({ balance, ...validator }, index) => ({ index: String(index), balance, validator }))
  return {
    epoch: json.epoch,
    validators: {
      ...validatorsFromJson(list, rules.increment),
      scores: Float64Array.from(json.scores),
      pending: {
        deposits: pendingDepositsFromJson(json.deposits),
        consolidations: pendingConsolidationsFromJson(json.consolidations),
      },
      seeds: { mixes: { now: undefined, next: undefined }, lookahead: Int32Array.from(json.proposers) },
    },
    transition: {
      justification: {
        bits: json.bits,
        previousJustified: json.previousJustified,
        currentJustified: json.currentJustified,
        finalized: json.finalized,
      },
      slashings: Float64Array.from(json.slashings),
      depositBalanceToConsume: json.depositBalanceToConsume,
      syncCommittees: { now: Uint32Array.from(json.sync.now), next: Uint32Array.from(json.sync.next) },
    },
  }
}

/** The data of the epochs that have all blocks before and after them, from the true states. */
function openChain(at: number) {
  const { blocks: blockJson, states: stateJson } = chains[at] as (typeof chains)[number]
  const blocks = blockJson.map(blockOf)
  const states = new Map(stateJson.map((json) => [json.epoch, stateOf(json)]))
  const stateAt = (epoch: number) => states.get(epoch) as FullState
  const blocksOf = (epoch: number) => blocks.filter(({ slot }) => epochAt(rules, slot) === epoch)
  const first = (stateJson[0] as StateJson).epoch + 3
  const last = (stateJson.at(-1) as StateJson).epoch - 2
  const dataOf = (epoch: number): EpochData => {
    const { validators, transition } = stateAt(epoch)
    const next = stateAt(epoch + 1)
    return {
      epoch,
      blocks: [...blocksOf(epoch), ...blocksOf(epoch + 1)],
      committees: computeDuties(rules, stateAt(epoch), blocks).committees(epoch, validators),
      proposers: validators.seeds?.lookahead?.subarray(0, rules.slotsPerEpoch) ?? [],
      sync: { now: transition.syncCommittees.now, next: next.transition.syncCommittees.now },
      ...{ atStart: validators, atEnd: next.validators },
      finalizedEpoch: stateAt(epoch + 2).transition.justification.finalized,
    }
  }
  const epochs = Array.from({ length: last - first }, (_, offset) => dataOf(first + offset))
  const gapOf = (from: number, until: number): Gap => ({
    before: stateAt(from),
    after: {
      epoch: until,
      validators: stateAt(until).validators,
      finalizedEpoch: stateAt(until).transition.justification.finalized,
    },
    finalizedAfter: stateAt(until + 1).transition.justification.finalized,
    readBlocks: async (epoch) => blocksOf(epoch),
  })
  return { first, last, epochs, stateAt, gapOf }
}

/** The stored figures of each epoch. */
function figuresOf(epochs: readonly EpochData[], before: Carry | undefined) {
  let carry = before
  return epochs.map((data) => {
    const sums = new Sums()
    const processed = processEpoch(rules, data, carry, sums)
    carry = processed.carry
    return { carry, sums: sums.take(), unexplained: processed.unexplainedBalanceChanges }
  })
}

const computedColumns = ['balance', 'increments', 'slashed', 'credentials', 'pubkeys'] as const

function assertSameState(computed: Validators, state: Validators, label: string): void {
  assert.equal(computed.count, state.count, label)
  for (const column of computedColumns)
    assert.deepEqual([...computed[column]], [...state[column]], `${label}, ${column}`)
  const [actual, expected] = [computed, state].map(({ pending }) =>
    Buffer.from(pending?.deposits ?? []).toString('hex'),
  )
  assert.equal(actual, expected, `${label}, pending deposits`)
}

test('the figures of the chains are consistent with their states', () => {
  // Throws if a balance or an effective balance does not follow from the blocks.
  for (const at of chains.keys()) assert.equal(figuresOf(openChain(at).epochs, undefined).length, 14)
})

for (const at of chains.keys()) {
  test(`every state and figure in gaps of 1 to 12 states follows the consensus specifications, chain ${at}`, async () => {
    const { first, last, epochs, stateAt, gapOf } = openChain(at)
    const truth = figuresOf(epochs, undefined)
    for (let missing = 1; missing <= 12; missing++) {
      const from = first + 1 + ((missing * 5) % (last - first - missing - 1))
      const filled = await replayGap(rules, gapOf(from, from + missing + 1))
      assert.equal(filled.length, missing + 1)
      for (const { epoch, atEnd } of filled)
        assertSameState(
          atEnd,
          stateAt(epoch + 1).validators,
          `${missing} states after epoch ${from}, epoch ${epoch + 1}`,
        )
      figuresOf(filled, truth[from - first - 1]?.carry).forEach(({ sums, unexplained }, offset) => {
        const expected = truth[from - first + offset]
        assert.deepEqual([sums, unexplained], [expected?.sums, expected?.unexplained], `epoch ${from + offset}`)
      })
    }
  })
}
