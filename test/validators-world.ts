// Helpers for tests of group C: writing duties as plain objects, and calling handlers with the contract's defaults.

import { strict as assert } from 'node:assert'
import type { Endpoint, Input, Reply } from '#api/contract/kit.ts'
import type { Network } from '#api/contract/wire/validators.ts'
import type { ChainTime, Epoch, Epochs } from '#core/chain-time.ts'
import { Fault } from '#core/fault.ts'
import { holes, type Range } from '#core/ranges.ts'
import { complete } from '#core/schema-check.ts'
import type { Confidence, Handler, RawQuery } from '#http/handler.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { AppContext } from '#server/context.ts'
import type { CommitSegment } from '#validators/duties/commit.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import type { SummaryEntities } from '#validators/duties/daily-summaries.ts'
import { plainTime, segmentAt } from '#validators/duties/layout.ts'
import { type MissedField, missedFields } from '#validators/duties/missed.ts'
import { type Measure, measures } from '#validators/method/measures.ts'
import { putValidators, toBytes } from '#validators/registry/registry.ts'
import { type TestContext, testRequestInfo } from './context.ts'

export interface EpochRow extends Partial<Record<Measure, number>> {
  readonly epoch: number
  readonly validator: number
}

/** A vote without any fault. */
export const perfect = {
  assigned: 1,
  inclusions: 1,
  included: 1,
  inclusion_delay: 1,
  correct_source: 1,
  correct_target: 1,
  correct_head: 1,
} as const

/** Writes rows and covers [from, until). Epochs without rows are covered and empty. Skips covered epochs. */
export async function writeEpochs(
  context: Pick<TestContext, 'duties' | 'settings'>,
  network: Network,
  { from, until }: Range,
  rows: readonly EpochRow[],
): Promise<Range[]> {
  const time = plainTime(networkSettings(context.settings, network))
  const fresh = holes(await coveredEpochs(context.duties, network), { from, until })
  for (const span of fresh) {
    const segments = segmentsOf(time, span, rows)
    await context.duties.update('commitEpochs', { network, time, segments })
  }
  return fresh
}

/** The epochs of a span, one segment for each hour part. */
export function segmentsOf(time: ChainTime, span: Range, rows: readonly EpochRow[]): CommitSegment[] {
  const segments: CommitSegment[] = []
  for (let epoch = span.from as Epoch; epoch < span.until; ) {
    const end = Math.min(span.until, segmentAt(time, epoch).epochs.until) as Epoch
    segments.push(segmentOf({ from: epoch, until: end }, rows))
    epoch = end
  }
  return segments
}

function segmentOf(epochs: Epochs, rows: readonly EpochRow[]): CommitSegment {
  const segmentRows = rows.filter(({ epoch }) => epoch >= epochs.from && epoch < epochs.until)
  const byValidator = Map.groupBy(segmentRows, ({ validator }) => validator)
  const validators = [...byValidator.keys()].sort((a, b) => a - b)
  const sumOf = (validator: number, name: Measure) =>
    (byValidator.get(validator) ?? []).reduce((total, row) => total + (row[name] ?? 0), 0)
  return {
    epochs,
    validator: Int32Array.from(validators),
    sums: Object.fromEntries(
      measures.map((name) => [name, Float64Array.from(validators, (validator) => sumOf(validator, name))]),
    ) as Record<Measure, Float64Array>,
    missed: Object.fromEntries(missedFields.map((field) => [field, new Int32Array()])) as Record<
      MissedField,
      Int32Array
    >,
    ...{ audits: [], unexplained: [], watched: undefined },
  }
}

export const pubkeyOf = (index: number): string => `0x${index.toString(16).padStart(96, 'a')}`

export const register = (context: TestContext, network: Network, indices: readonly number[]) =>
  putValidators(
    context.ingest,
    network,
    indices.map((index) => ({
      index,
      pubkey: pubkeyOf(index),
      activationEligibilityEpoch: 0,
      activationEpoch: 1,
      exitEpoch: null,
      withdrawableEpoch: null,
      withdrawalAddress: null,
    })),
  )

export const noEntities: SummaryEntities = {
  ...{ version: 0, changes: [], list: [] },
  ...{ validators: new Int32Array(), entityIndices: new Int32Array() },
  ...{ fromDays: new Int32Array(), untilDays: new Int32Array() },
}

export interface HandlerReply<E extends Endpoint> {
  readonly body: Reply<E>
  readonly confidence: Confidence | undefined
}

export async function callHandler<E extends Endpoint>(
  { endpoint, handle }: Handler<E, AppContext>,
  context: TestContext,
  input: Input<E>,
): Promise<HandlerReply<E>> {
  const { value, problems } = complete(endpoint.input, input)
  assert.deepEqual(problems, [], 'the contract accepts the input')
  const result = await handle(value as never, context, testRequestInfo({ query: writtenQuery(input) }))
  assert(result.is === 'body', `the result is ${result.is}`)
  return { body: result.body as Reply<E>, confidence: result.confidence }
}

/** As a client writes the input. Names of lists are repeated. */
const writtenQuery = (input: object): RawQuery =>
  Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, Array.isArray(value) ? value.map(String) : String(value)]),
  )

/** The locations of the invalid inputs. */
export async function invalidInputs(work: Promise<unknown>): Promise<string[]> {
  try {
    await work
  } catch (error) {
    assert(error instanceof Fault && error.code === 'input.invalid', String(error))
    return error.problems.map(({ at }) => at.join('.'))
  }
  return assert.fail('no fault was thrown')
}

/** The input of a client that follows a link. */
export function inputOfLink<E extends Endpoint>(endpoint: E, link: string): Input<E> {
  const url = new URL(link, 'http://127.0.0.1')
  const properties = endpoint.input.properties as Record<string, { type?: string }>
  const read = (name: string, texts: readonly string[]): unknown => {
    const type = properties[name]?.type
    const [text = ''] = texts
    if (type === 'array')
      return texts.flatMap((list) => list.split(',')).map((part) => (/^\d+$/.test(part) ? Number(part) : part))
    if (type === 'boolean') return text === 'true'
    return type === 'integer' ? Number(text) : text
  }
  const names = new Set(url.searchParams.keys())
  return Object.fromEntries(Array.from(names, (name) => [name, read(name, url.searchParams.getAll(name))])) as Input<E>
}

/** Addresses that paid deposits; each counts once per validator. */
export async function putDeposits(
  state: TestContext['state'],
  network: Network,
  entries: readonly { readonly index: number; readonly address: string }[],
): Promise<void> {
  await state.write(async (tx) => {
    for (const { index, address } of entries) {
      await tx.run(
        `insert into validator_deposits (network, validator_index, address) values (?, ?, ?)
         on conflict (network, validator_index, address) do nothing`,
        ...[network, index, toBytes(address)],
      )
    }
  })
}
