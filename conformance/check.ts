// What a check is, and the words checks are written in. A check that finds something wrong throws `Broken`; one that
// cannot be made here (no sample, no second key) throws `Skipped`.
import { contract } from '#api/contract.ts'
import { failureExample } from '#api/failures.ts'
import type { FaultCode } from '#api/faults.ts'
import { stringifyJson } from '#api/json.ts'
import type { TSchema } from '#api/kit.ts'
import type { EndpointId, Group } from '#api/routes.ts'
import { ExplorerFailure } from '#api/wire/explorer.ts'
import { FxFailure } from '#api/wire/fx.ts'
import { MarketsFailure } from '#api/wire/markets.ts'
import { ValidatorsFailure } from '#api/wire/validators.ts'
import { misfits } from './schema-fit.ts'
import type { ServerResponse, ServerUnderTest } from './server-under-test.ts'

/** A section of the specification, or of the behaviour pages in docs/. */
export type Rule = `spec ${string}` | `behaviour/${string}`

export interface Check {
  readonly id: string
  readonly rule: Rule
  /** The guarantee, in one sentence. */
  readonly requirement: string
  /** Made only when asked for: it takes minutes, or closes the caller's address for a while. */
  readonly onlyWith?: 'slow' | 'guard'
  readonly run: (site: ServerUnderTest) => Promise<void>
}

export class CheckFailed extends Error {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('; '))
    this.name = 'Broken'
    this.problems = problems
  }
}

export class Skipped extends Error {
  override readonly name = 'Skipped'
}

export function expect(holds: boolean, message: string): asserts holds {
  if (!holds) throw new CheckFailed([message])
}

/** A list of them, all told at once. */
export function expectNoProblems(problems: readonly string[]): void {
  if (problems.length > 0) throw new CheckFailed(problems)
}

export type Members = Readonly<Record<string, unknown>>

export function membersOf(value: unknown, what: string): Members {
  expect(typeof value === 'object' && value !== null && !Array.isArray(value), `${what} is not a JSON object`)
  return value as Members
}

export function toList(value: unknown, what: string): readonly Members[] {
  expect(Array.isArray(value), `${what} is not a list`)
  return value.map((item, index) => membersOf(item, `${what}[${index}]`))
}

/** A success whose body is what the contract describes. */
export function expectReply(id: EndpointId, response: ServerResponse): Members {
  expect(response.status === 200, `status ${response.status} instead of 200: ${beginning(response.text)}`)
  const type = response.headers.get('content-type') ?? 'none'
  expect(/^application\/json\s*(;|$)/i.test(type), `content-type is ${type}, not application/json`)
  const body = membersOf(response.body, 'the reply')
  if (contract[id].group === 'explorer')
    expect(body.status === '1' && body.message === 'OK', `not a success: ${beginning(response.text)}`)
  expectNoProblems(misfits(contract[id].reply as TSchema, body))
  return body
}

const failureSchemas: Readonly<Record<Group, TSchema>> = {
  explorer: ExplorerFailure,
  fx: FxFailure,
  validators: ValidatorsFailure,
  markets: MarketsFailure,
}

/** A failure in the group's own shape, with the status and the words or number that belong to the code. */
export function refusal(id: EndpointId, response: ServerResponse, code: FaultCode): void {
  const endpoint = contract[id]
  const expected = failureExample(endpoint, code)
  expect(
    response.status === expected.status,
    `status ${response.status} instead of ${expected.status}: ${beginning(response.text)}`,
  )
  expectNoProblems(misfits(failureSchemas[endpoint.group], response.body))
  const body = membersOf(response.body, 'the failure')
  const right = expected.body as Members
  for (const name of matched(endpoint.group, code))
    expect(
      stringifyJson(body[name]) === stringifyJson(right[name]),
      `${name} is ${stringifyJson(body[name])}, not ${stringifyJson(right[name])}`,
    )
  if (code.startsWith('limit.') || code === 'key.guarded')
    expect(/^\d+$/.test(response.headers.get('retry-after') ?? ''), 'retry-after is missing')
}

/** What clients match on; the rest is for people. */
function matched(group: Group, code: FaultCode): readonly string[] {
  if (group === 'explorer') return ['status', 'message', ...(code === 'explorer.chain_unavailable' ? [] : ['result'])]
  if (group === 'fx') return ['code']
  if (group === 'markets') return ['type', ...(code === 'input.invalid' ? [] : ['error'])]
  return code === 'input.invalid' ? [] : ['detail']
}

/** A parameter problem of the ratings names its place. */
export function namesInput(response: ServerResponse, name: string): void {
  const { detail } = membersOf(response.body, 'the failure') as { detail?: unknown }
  const problems = toList(detail, 'detail')
  const found = problems.some(({ loc }) => Array.isArray(loc) && loc.includes(name))
  expect(found, `no entry of detail has ${name} in its loc`)
}

export function same(one: unknown, other: unknown, message: string): void {
  expect(stringifyJson(one) === stringifyJson(other), message)
}

export const beginning = (text: string): string => text.slice(0, 160)
