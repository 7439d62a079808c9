// Blocks and states of every fork that another implementation of the consensus types encoded. SSZ and JSON must give
// the same result, in both presets within one process.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { validatorsFromJson } from '#test/validators-json.ts'
import { blockFromJson, blockFromSsz, blockParts } from './block-ssz.ts'
import { blockTypeOf } from './block-type.ts'
import { type Fork, readRules, toFigure } from './consensus.ts'
import { emptyPendingQueues } from './pending.ts'
import { SszError, View } from './ssz.ts'
import { hasSameCredentials, pubkeyOf, withdrawalAddressOf } from './validator-keys.ts'
import { stateFromSsz } from './validators.ts'

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

test('a null field that the fork does not have is ignored', () => {
  for (const { json, fork, preset } of blocks) {
    const { message, ...rest } = json as { message: { body: { attestations: object[]; execution_payload?: object } } }
    const { attestations, execution_payload: payload } = message.body
    const body = {
      ...message.body,
      execution_payload: payload ? { withdrawals: null, ...payload } : null,
      attestations: attestations.map((attestation) => ({ committee_bits: null, ...attestation })),
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

/** The fields of a block in JSON that only the computation of states needs. */
interface OperationsJson {
  readonly voluntary_exits: readonly { message: { validator_index: string } }[]
  readonly bls_to_execution_changes?: readonly { message: { validator_index: string } }[]
  readonly execution_payload?: { readonly prev_randao: string }
  readonly execution_requests?: Readonly<Record<'deposits' | 'withdrawals' | 'consolidations', readonly object[]>>
}

test('exits, credentials changes, requests and RANDAO mixes equal those in the JSON of a block', () => {
  const seen = new Set<string>()
  for (const sample of blocks) {
    const { body } = (sample.json as { message: { body: OperationsJson } }).message
    const block = blockParts(bytesOf(sample), sample.fork, rules[sample.preset])
    const indices = (list: OperationsJson['voluntary_exits'] = []) =>
      list.map(({ message }) => toFigure(BigInt(message.validator_index)))
    assert.deepEqual(block.exits, indices(body.voluntary_exits))
    assert.deepEqual(block.credentialsChanges, indices(body.bls_to_execution_changes))
    if (block.payload)
      assert.equal(`0x${Buffer.from(block.payload.prevRandao).toString('hex')}`, body.execution_payload?.prev_randao)
    assert.equal(block.requests !== undefined, isElectra(sample.fork))
    for (const [name, size] of [
      ['deposits', 192],
      ['withdrawals', 76],
      ['consolidations', 116],
    ] as const) {
      assert.equal((block.requests?.[name].length ?? 0) / size, body.execution_requests?.[name].length ?? 0)
      if (block.requests?.[name].length) seen.add(name)
    }
    if (block.exits.length > 0) seen.add('exits')
    if (block.credentialsChanges.length > 0) seen.add('credentials changes')
  }
  assert.deepEqual([...seen].sort(), ['consolidations', 'credentials changes', 'deposits', 'exits', 'withdrawals'])
})

test('block roots equal those of another implementation, in every fork, from SSZ and from JSON', () => {
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

test('a missing or invalid field is an error that names it', () => {
  const { fork, json, preset } = blocks[0] as Sample
  const changed = (name: string, value: unknown) => {
    const { message, ...rest } = json as { message: { body: object } }
    return { ...rest, message: { ...message, body: { ...message.body, [name]: value } } }
  }
  assert.throws(
    () => blockFromJson(changed('graffiti', undefined), fork, rules[preset]),
    /graffiti is not a hexadecimal/,
  )
  assert.throws(() => blockFromJson(changed('graffiti', '0x00'), fork, rules[preset]), /graffiti has 1 bytes, not 32/)
  assert.throws(() => blockFromJson(changed('attestations', {}), fork, rules[preset]), /attestations is not a list/)
})

const isElectra = (fork: Fork): boolean => fork === 'electra' || fork === 'fulu'

for (const sample of samples.filter(({ kind }) => kind === 'state')) {
  test(`validators, balances, scores and finality of a ${sample.fork} state are read from its SSZ`, () => {
    const state = stateFromSsz(bytesOf(sample), rules.minimal)
    const { scores, pubkeys, credentials, pending, ...validators } = state.validators
    assert.equal(pending, emptyPendingQueues)
    const fromJson = validatorsFromJson(sample.json.validators, 1)
    const { pubkeys: jsonKeys, credentials: jsonCredentials, ...rest } = fromJson
    assert.deepEqual(validators, rest)
    assert.deepEqual(
      [pubkeys, credentials].map((column) => [...column]),
      [jsonKeys, jsonCredentials].map((column) => [...column]),
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

test('truncated bytes are an SszError', () => {
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
      // A later cut may be behind all fields that are read.
      assert.notEqual(cut, 1)
    }
  }
})
