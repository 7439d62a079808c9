// Blocks and states of every fork, encoded by another implementation of the consensus types, read by ours: SSZ and JSON
// must give the same, in both presets within one process.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { type Fork, readRules } from '#core/consensus.ts'
import type { Block } from './block.ts'
import { blockFromJson } from './block-json.ts'
import { blockFromSsz } from './block-ssz.ts'
import { hasSameCredentials, pubkeyOf, withdrawalAddressOf } from './names.ts'
import { SszError, View } from './ssz.ts'
import { stateFromSsz, validatorsFromJson } from './validators.ts'

interface Sample {
  readonly kind: 'block' | 'state'
  readonly fork: Fork
  readonly preset: 'minimal' | 'mainnet'
  readonly ssz: string
  readonly json: Readonly<Record<string, unknown>>
}

const packed = readFileSync(new URL('../../../test/recordings/beacon/forks.ndjson.zst', import.meta.url))
const samples = zstdDecompressSync(packed)
  .toString()
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Sample)

const minimal = {
  SLOTS_PER_EPOCH: '8',
  SYNC_COMMITTEE_SIZE: '32',
  MAX_COMMITTEES_PER_SLOT: '4',
  SLOTS_PER_HISTORICAL_ROOT: '64',
  EPOCHS_PER_HISTORICAL_VECTOR: '64',
  EPOCHS_PER_SLASHINGS_VECTOR: '64',
  EFFECTIVE_BALANCE_INCREMENT: '1',
}
const rules = { minimal: readRules(minimal), mainnet: readRules({}) }
const bytesOf = (sample: Sample) => new View(Buffer.from(sample.ssz, 'base64'))

/** Typed arrays of the two readers differ in kind, not in content. */
const plain = (block: Block) => ({
  ...block,
  syncBits: [...block.syncBits],
  attestations: block.attestations.map((one) => ({
    ...one,
    bits: [...one.bits],
    committeeBits: one.committeeBits && [...one.committeeBits],
  })),
})

test('an optional member that is null in the JSON of a block is absent', () => {
  for (const { json, fork } of samples.filter(({ kind }) => kind === 'block')) {
    const { message } = json as { message: { body: { attestations: object[]; execution_payload?: object } } }
    const { attestations, execution_payload: payload } = message.body
    const body = {
      ...message.body,
      execution_payload: payload ? { withdrawals: null, ...payload } : null,
      attestations: attestations.map((one) => ({ committee_bits: null, ...one })),
    }
    const padded = blockFromJson({ message: { ...message, body } }, fork)
    assert.deepEqual(plain(padded), plain(blockFromJson(json, fork)))
  }
})

for (const sample of samples.filter(({ kind }) => kind === 'block')) {
  test(`a ${sample.fork} block of the ${sample.preset} preset is the same from SSZ and from JSON`, () => {
    const fromJson = blockFromJson(sample.json, sample.fork)
    assert.deepEqual(plain(blockFromSsz(bytesOf(sample), sample.fork, rules[sample.preset])), plain(fromJson))
    assert.equal(
      fromJson.attestations.every(({ committeeBits }) => committeeBits !== undefined),
      isElectra(sample.fork) || fromJson.attestations.length === 0,
    )
  })
}

const isElectra = (fork: Fork): boolean => fork === 'electra' || fork === 'fulu'

for (const sample of samples.filter(({ kind }) => kind === 'state')) {
  test(`a ${sample.fork} state gives validators, balances, scores and finality from its SSZ`, () => {
    const state = stateFromSsz(bytesOf(sample), rules.minimal)
    const { scores, pubkeys, credentials, ...validators } = state.validators
    const fromJson = validatorsFromJson(sample.json.validators, 1)
    const { pubkeys: ownKeys, credentials: ownCredentials, ...rest } = fromJson
    assert.deepEqual(validators, rest)
    assert.deepEqual(
      [pubkeys, credentials].map((one) => [...one]),
      [ownKeys, ownCredentials].map((one) => [...one]),
    )
    for (let index = 0; index < fromJson.count; index++) {
      assert.deepEqual([...pubkeyOf(state.validators, index)], [...pubkeyOf(fromJson, index)])
      assert.deepEqual(withdrawalAddressOf(state.validators, index), withdrawalAddressOf(fromJson, index))
      assert(hasSameCredentials(state.validators, fromJson, index))
    }
    assert.deepEqual([...(scores ?? [])], (sample.json.scores as string[]).map(Number))
    assert.equal(state.slot, Number(sample.json.slot))
    const finalized = (sample.json.finalized as { epoch: string }).epoch
    assert.equal(state.finalizedEpoch, BigInt(finalized) > 2n ** 53n ? Number.POSITIVE_INFINITY : Number(finalized))
  })
}

test('bytes that end too early are an error, whatever is left of them', () => {
  for (const sample of samples.filter(({ preset }) => preset === 'minimal')) {
    const { bytes } = bytesOf(sample)
    const read = (view: View) =>
      sample.kind === 'block' ? blockFromSsz(view, sample.fork, rules.minimal) : stateFromSsz(view, rules.minimal)
    for (let cut = 1; cut < 8; cut++) {
      const part = bytes.subarray(0, Math.floor((bytes.length * cut) / 8))
      try {
        read(new View(part))
      } catch (error) {
        assert(error instanceof SszError, String(error))
        continue
      }
      // What is needed may lie before the cut; a block's last part is the payload or behind it.
      assert.notEqual(cut, 1)
    }
  }
})
