// The type of a check, and the assertions that checks use. A check that finds a problem throws `CheckFailed`. One that
// cannot run (for example without sample data or a second key) throws `Skipped`.
import { allEndpoints } from '#api/contract/extensions.ts'
import { failureExample, failureSchemas } from '#api/contract/failures.ts'
import type { FaultCode } from '#api/contract/faults.ts'
import { stringifyJson } from '#api/contract/json.ts'
import type { AnyId, Group } from '#api/contract/routes.ts'
import { misfits } from './schema-fit.ts'
import type { ServerResponse, ServerUnderTest } from './server-under-test.ts'

/** A section of the specification, or of the behaviour pages in docs/. */
export type Rule = `spec ${string}` | `behaviour/${string}`

export interface Check {
  readonly rule: Rule
  /** The guarantee, in one sentence. */
  readonly requirement: string
  /** Runs only with this option: it takes minutes, or the server blocks the caller's address for a while. */
  readonly onlyWith?: 'slow' | 'badKeys'
  readonly run: (server: ServerUnderTest) => Promise<unknown>
}

/** Checks by id. */
export type Checks = Readonly<Record<string, Check>>

export class CheckFailed extends Error {
  readonly problems: readonly string[]
  constructor(problems: readonly string[]) {
    super(problems.join('; '))
    this.name = 'CheckFailed'
    this.problems = problems
  }
}

/** Two responses differ. That is no defect if the data of the server changed between them (run-checks.ts). */
export class Differs extends CheckFailed {}

export class Skipped extends Error {
  override readonly name = 'Skipped'
}

export function expect(holds: boolean, message: string): asserts holds {
  if (!holds) throw new CheckFailed([message])
}

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

/** Expects a success whose body matches the contract, and returns the body. */
export function expectBody(id: AnyId, { status, headers, text, body }: ServerResponse): unknown {
  expect(status === 200, `status ${status} instead of 200: ${excerpt(text)}`)
  const type = headers.get('content-type') ?? 'none'
  expect(/^application\/json\s*(;|$)/i.test(type), `content-type is ${type}, not application/json`)
  if (allEndpoints[id].group === 'explorer' && id !== 'explorer.chainList') {
    const envelope = membersOf(body, 'the reply')
    expect(envelope.status === '1' && envelope.message === 'OK', `the envelope is not a success: ${excerpt(text)}`)
  }
  expectNoProblems(misfits(allEndpoints[id].reply, body))
  return body
}

/** The same of an endpoint that returns an object. */
export const expectReply = (id: AnyId, response: ServerResponse): Members =>
  membersOf(expectBody(id, response), 'the reply')

/** The same of an endpoint that returns a list. */
export const expectList = (id: AnyId, response: ServerResponse): readonly Members[] =>
  toList(expectBody(id, response), 'the reply')

/** Skips the check if the server does not have this extension. */
export function requireExtension(id: AnyId, response: ServerResponse): ServerResponse {
  const isRefused = /Missing Or invalid (Module|Action) name/.test(response.text)
  if (response.status === 404 || response.status === 405 || isRefused) throw new Skipped(`the server has no ${id}`)
  return response
}

/** Expects an error in the format of the endpoint's group, with the status and the text or number of this code. */
export function expectFailure(id: AnyId, response: ServerResponse, code: FaultCode): void {
  const endpoint = allEndpoints[id]
  const expected = failureExample(endpoint, code)
  expect(
    response.status === expected.status,
    `status ${response.status} instead of ${expected.status}: ${excerpt(response.text)}`,
  )
  expectNoProblems(misfits(failureSchemas[endpoint.group], response.body))
  const body = membersOf(response.body, 'the failure')
  const expectedBody = expected.body as Members
  for (const name of comparedFields(endpoint.group, code))
    expect(
      stringifyJson(body[name]) === stringifyJson(expectedBody[name]),
      `${name} is ${stringifyJson(body[name])}, not ${stringifyJson(expectedBody[name])}`,
    )
  if (code.startsWith('limit.') || code === 'key.throttled')
    expect(/^\d+$/.test(response.headers.get('retry-after') ?? ''), 'retry-after is missing')
}

/** The fields that clients compare. The others contain free text. */
function comparedFields(group: Group, code: FaultCode): readonly string[] {
  if (group === 'explorer') return ['status', 'message', ...(code === 'explorer.chain_unavailable' ? [] : ['result'])]
  if (group === 'fx') return ['code']
  if (group === 'markets') return ['type', ...(code === 'input.invalid' ? [] : ['error'])]
  return code === 'input.invalid' ? [] : ['detail']
}

/** Expects a validation error of group C to name this parameter. */
export function expectProblemWith(response: ServerResponse, name: string): void {
  const { detail } = membersOf(response.body, 'the failure') as { detail?: unknown }
  const problems = toList(detail, 'detail')
  const isNamed = problems.some(({ loc }) => Array.isArray(loc) && loc.includes(name))
  expect(isNamed, `no entry of detail has ${name} in its loc`)
}

export function expectSame(actual: unknown, expected: unknown, message: string): void {
  if (stringifyJson(actual) !== stringifyJson(expected)) throw new Differs([message])
}

export const excerpt = (text: string): string => text.slice(0, 160)
