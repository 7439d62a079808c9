// Blocks and states of every fork, encoded by another implementation of the consensus types, read by ours: SSZ and JSON
// must give the same, in both presets within one process.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { blockFromJson, blockFromSsz, blockParts } from './block-ssz.ts'
import { blockTypeOf } from './block-type.ts'
import { type Fork, readRules } from './consensus.ts'
import { emptyPendingQueues } from './pending.ts'
import { SszError, View } from './ssz.ts'
import { hasSameCredentials, pubkeyOf, withdrawalAddressOf } from './validator-keys.ts'
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

const blocks = samples.filter(({ kind }) => kind === 'block')

test('a null member that the fork does not have is absent', () => {
  for (const { json, fork, preset } of blocks) {
    const { message, ...rest } = json as { message: { body: { attestations: object[]; execution_payload?: object } } }
    const { attestations, execution_payload: payload } = message.body
    const body = {
      ...message.body,
      execution_payload: payload ? { withdrawals: null, ...payload } : null,
      attestations: attestations.map((one) => ({ committee_bits: null, ...one })),
    }
    const { signed } = blockTypeOf(fork, rules[preset])
    const padded = signed.fromJson({ ...rest, message: { ...message, body } }, 'block')
    assert.equal(Buffer.compare(padded, signed.fromJson(json, 'block')), 0)
  }
})

for (const sample of blocks) {
  test(`a ${sample.fork} block of the ${sample.preset} preset is the same from SSZ and from JSON`, () => {
    const { signed } = blockTypeOf(sample.fork, rules[sample.preset])
    const view = bytesOf(sample)
    assert.equal(Buffer.compare(signed.fromJson(sample.json, 'block'), view.bytes), 0)
    const { attestations } = blockParts(view, sample.fork, rules[sample.preset])
    assert.equal(
      attestations.every(({ committeeBits }) => committeeBits !== undefined),
      isElectra(sample.fork) || attestations.length === 0,
    )
  })
}

test('the root of a block is the one that another implementation computes, in every fork and in both forms', () => {
  const path = new URL('../../../test/recordings/beacon/fork-roots.json', import.meta.url)
  const roots = JSON.parse(readFileSync(path, 'utf8')) as (string | null)[]
  const seen = new Set<Fork>()
  for (const [at, root] of roots.entries()) {
    if (root === null) continue
    const { fork, json, preset } = blocks[at] as Sample
    assert.equal(blockFromSsz(bytesOf(blocks[at] as Sample), fork, rules[preset]).root, root, fork)
    assert.equal(blockFromJson(json, fork, rules[preset]).root, root, fork)
    seen.add(fork)
  }
  assert.equal(seen.size, 6)
})

test('a field that is missing or does not fit is an error that names it', () => {
  const { fork, json, preset } = blocks[0] as Sample
  const changed = (name: string, value: unknown) => {
    const { message, ...rest } = json as { message: { body: object } }
    return { ...rest, message: { ...message, body: { ...message.body, [name]: value } } }
  }
  assert.throws(() => blockFromJson(changed('graffiti', undefined), fork, rules[preset]), /graffiti is no hexadecimal/)
  assert.throws(() => blockFromJson(changed('graffiti', '0x00'), fork, rules[preset]), /graffiti has 1 bytes, not 32/)
  assert.throws(() => blockFromJson(changed('attestations', {}), fork, rules[preset]), /attestations is no list/)
})

const isElectra = (fork: Fork): boolean => fork === 'electra' || fork === 'fulu'

for (const sample of samples.filter(({ kind }) => kind === 'state')) {
  test(`a ${sample.fork} state gives validators, balances, scores and finality from its SSZ`, () => {
    const state = stateFromSsz(bytesOf(sample), rules.minimal)
    const { scores, pubkeys, credentials, pending, ...validators } = state.validators
    assert.equal(pending, emptyPendingQueues)
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
      sample.kind === 'block' ? blockParts(view, sample.fork, rules.minimal) : stateFromSsz(view, rules.minimal)
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
