// Validates a value against a schema of the contract. It does not share code with the server's validator, so that a
// mistake there cannot hide here. It is stricter in one point: a field that the schema does not list is a problem,
// because a renamed optional field shows in no other way.
import type { TSchema } from '#api/contract/kit.ts'
import type { JsonSchema } from '#api/contract/schema.ts'

const problemsMax = 10
const shownCharsMax = 60

/** Lists the problems of the value, each with its path. Empty if the value matches. */
export function misfits(schema: TSchema, value: unknown, atMost = problemsMax): readonly string[] {
  const problems: string[] = []
  checkValue(schema as JsonSchema, value, 'reply', problems)
  return problems.slice(0, atMost)
}

function checkValue(node: JsonSchema, value: unknown, at: string, problems: string[]): void {
  if (node.anyOf) {
    checkUnion(node.anyOf, value, at, problems)
    return
  }
  const type = typeOf(value)
  const allowed = node.type === undefined ? undefined : [node.type].flat()
  if (allowed && !allowed.some((name) => name === type || (name === 'number' && type === 'integer'))) {
    problems.push(`${at} must be ${allowed.join(' or ')}, not ${formatValue(value)}`)
    return
  }
  if (node.enum && !node.enum.some((one) => one === value))
    problems.push(`${at} must be one of ${node.enum.join(', ')}, not ${formatValue(value)}`)
  if (typeof value === 'string') checkText(node, value, at, problems)
  else if (typeof value === 'number' || typeof value === 'bigint') checkNumber(node, value, at, problems)
  else if (Array.isArray(value)) checkList(node, value, at, problems)
  else if (typeof value === 'object' && value !== null)
    checkObject(node, value as Record<string, unknown>, at, problems)
}

/** If no branch matches, reports the problems of the branch whose type matches. */
function checkUnion(branches: readonly JsonSchema[], value: unknown, at: string, problems: string[]): void {
  const problemsByBranch = branches.map((branch) => {
    const branchProblems: string[] = []
    checkValue(branch, value, at, branchProblems)
    return { branchProblems, hasSameType: [branch.type].flat().includes(typeOf(value)) }
  })
  if (problemsByBranch.some(({ branchProblems }) => branchProblems.length === 0)) return
  const nearest = problemsByBranch.find(({ hasSameType }) => hasSameType) ?? problemsByBranch[0]
  problems.push(...(nearest?.branchProblems ?? []))
}

function checkText(node: JsonSchema, value: string, at: string, problems: string[]): void {
  if (node.pattern !== undefined && !new RegExp(node.pattern, 'u').test(value))
    problems.push(`${at} must match ${node.pattern}, not ${formatValue(value)}`)
  if (node.format !== undefined && !formats[node.format]?.(value))
    problems.push(`${at} must be a ${node.format}, not ${formatValue(value)}`)
  if (value.length < (node.minLength ?? 0) || value.length > (node.maxLength ?? Number.POSITIVE_INFINITY))
    problems.push(`${at} has ${value.length} characters`)
}

function checkNumber(node: JsonSchema, value: number | bigint, at: string, problems: string[]): void {
  if (node.minimum !== undefined && value < node.minimum) problems.push(`${at} must be at least ${node.minimum}`)
  if (node.maximum !== undefined && value > node.maximum) problems.push(`${at} must be at most ${node.maximum}`)
}

function checkList(node: JsonSchema, value: readonly unknown[], at: string, problems: string[]): void {
  if (value.length < (node.minItems ?? 0) || value.length > (node.maxItems ?? Number.POSITIVE_INFINITY))
    problems.push(`${at} has ${value.length} items`)
  const { items } = node
  if (items) for (const [index, item] of value.entries()) checkValue(items, item, `${at}[${index}]`, problems)
}

function checkObject(node: JsonSchema, value: Readonly<Record<string, unknown>>, at: string, problems: string[]): void {
  for (const name of node.required ?? []) if (!Object.hasOwn(value, name)) problems.push(`${at}.${name} is missing`)
  const { properties } = node
  if (!properties) return
  for (const [name, member] of Object.entries(value)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (property) checkValue(property, member, `${at}.${name}`, problems)
    else problems.push(`${at}.${name} is not a field of the contract`)
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'bigint') return 'integer'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

const dateTime = /^(\d{4}-\d\d-\d\d)[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)?$/

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDay(text),
  'date-time': (text) => isDay(dateTime.exec(text)?.[1] ?? ''),
  uri: (text) => URL.canParse(text),
  uuid: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
}

/** False for days that do not exist, such as 2026-02-30. */
function isDay(text: string): boolean {
  const parsed = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(text)
}

function formatValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, shownCharsMax))
  return typeof value === 'object' && value !== null ? typeOf(value) : String(value)
}
