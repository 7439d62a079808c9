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
import { misfits } from './fits.ts'
import type { Answered, Site } from './site.ts'

/** A section of the specification, or a decision about what it leaves open (decision 0110). */
export type Rule = `spec ${string}` | `decision ${string}`

export interface Check {
  readonly id: string
  readonly rule: Rule
  /** The guarantee, in one sentence. */
  readonly says: string
  /** Made only when asked for: it takes minutes, or closes the caller's address for a while. */
  readonly onlyWith?: 'slow' | 'guard'
  readonly run: (site: Site) => Promise<void>
}

export class Broken extends Error {
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

export function claim(holds: boolean, words: string): asserts holds {
  if (!holds) throw new Broken([words])
}

/** A list of them, all told at once. */
export function claimAll(problems: readonly string[]): void {
  if (problems.length > 0) throw new Broken(problems)
}

export type Members = Readonly<Record<string, unknown>>

export function membersOf(value: unknown, what: string): Members {
  claim(typeof value === 'object' && value !== null && !Array.isArray(value), `${what} is not a JSON object`)
  return value as Members
}

export function listOf(value: unknown, what: string): readonly Members[] {
  claim(Array.isArray(value), `${what} is not a list`)
  return value.map((item, index) => membersOf(item, `${what}[${index}]`))
}

/** A success whose body is what the contract describes. */
export function reply(id: EndpointId, answered: Answered): Members {
  claim(answered.status === 200, `status ${answered.status} instead of 200: ${beginning(answered.text)}`)
  const type = answered.headers.get('content-type') ?? 'none'
  claim(/^application\/json\s*(;|$)/i.test(type), `content-type is ${type}, not application/json`)
  const body = membersOf(answered.body, 'the reply')
  if (contract[id].group === 'explorer')
    claim(body.status === '1' && body.message === 'OK', `not a success: ${beginning(answered.text)}`)
  claimAll(misfits(contract[id].reply as TSchema, body))
  return body
}

const shapes: Readonly<Record<Group, TSchema>> = {
  explorer: ExplorerFailure,
  fx: FxFailure,
  validators: ValidatorsFailure,
  markets: MarketsFailure,
}

/** A failure in the group's own shape, with the status and the words or number that belong to the code. */
export function refusal(id: EndpointId, answered: Answered, code: FaultCode): void {
  const endpoint = contract[id]
  const expected = failureExample(endpoint, code)
  claim(
    answered.status === expected.status,
    `status ${answered.status} instead of ${expected.status}: ${beginning(answered.text)}`,
  )
  claimAll(misfits(shapes[endpoint.group], answered.body))
  const body = membersOf(answered.body, 'the failure')
  const right = expected.body as Members
  for (const name of matched(endpoint.group, code))
    claim(
      stringifyJson(body[name]) === stringifyJson(right[name]),
      `${name} is ${stringifyJson(body[name])}, not ${stringifyJson(right[name])}`,
    )
  if (code.startsWith('limit.') || code === 'key.guarded')
    claim(/^\d+$/.test(answered.headers.get('retry-after') ?? ''), 'retry-after is missing')
}

/** What clients match on; the rest is for people. */
function matched(group: Group, code: FaultCode): readonly string[] {
  if (group === 'explorer') return ['status', 'message', ...(code === 'explorer.chain_unavailable' ? [] : ['result'])]
  if (group === 'fx') return ['code']
  if (group === 'markets') return ['type', ...(code === 'input.invalid' ? [] : ['error'])]
  return code === 'input.invalid' ? [] : ['detail']
}

/** A parameter problem of the ratings names its place. */
export function namesInput(answered: Answered, name: string): void {
  const { detail } = membersOf(answered.body, 'the failure') as { detail?: unknown }
  const problems = listOf(detail, 'detail')
  const found = problems.some(({ loc }) => Array.isArray(loc) && loc.includes(name))
  claim(found, `no entry of detail has ${name} in its loc`)
}

export function same(one: unknown, other: unknown, words: string): void {
  claim(stringifyJson(one) === stringifyJson(other), words)
}

export const beginning = (text: string): string => text.slice(0, 160)
