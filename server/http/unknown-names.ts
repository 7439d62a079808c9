// Names in a request that the contract does not have (behaviour/http.md#unknown-names). Derived from the contract.
//
// 1. A name that differs from a known one by spelling only is refused, because the caller means the known one.
// 2. Endpoints that select records, and bodies, refuse every other unknown name: without a filter, the list would be
//    complete and wrong.
// 3. Lookups of one record ignore it, and report it in a header.
import type { Endpoint } from '#api/contract/kit.ts'
import { inputLocation, namesWithoutEffect } from '#api/contract/routes.ts'
import type { JsonSchema } from '#api/contract/schema.ts'
import { Fault, type Problem } from '#core/fault.ts'
import { withoutKeys } from '#core/key.ts'
import type { Settings } from '#runtime/settings.ts'
import type { RawQuery } from './handler.ts'

export interface NamedParts {
  readonly query: RawQuery
  readonly headers: Readonly<Record<string, string | undefined>>
}

/** Returns the names that are ignored, or throws a Fault that names those that are refused. */
export type NameCheck = (request: NamedParts) => readonly string[]

/** The same limit as for other problems. */
const namesMax = 20
const shownChars = 64
const none: readonly string[] = []

/** Undefined in group A, which ignores what it does not know, as its original does. */
export function nameCheck(endpoint: Endpoint, { server, aliases }: Settings): NameCheck | undefined {
  if (endpoint.group === 'explorer') return undefined
  const inputs = Object.keys(endpoint.input.properties).filter((name) => inputLocation(endpoint, name) === 'query')
  const known = new Set([...inputs, ...(endpoint.auth === 'open' ? ['apikey'] : [])])
  const withoutEffect = new Set(namesWithoutEffect[endpoint.group])
  const isLenient = endpoint.lookup === true || server.unknownParameters === 'report'
  const examineHeaders = headerCheck(endpoint, Object.keys(aliases.requestHeaders))
  return ({ query, headers }) => {
    const problems: Problem[] = []
    let ignored: string[] | undefined
    examineHeaders?.(headers, problems, (name) => {
      ignored ??= []
      ignored.push(name)
    })
    for (const name in query) {
      if (known.has(name)) continue
      const isHarmless = withoutEffect.has(name) || isTracking(name)
      if (isHarmless || (isLenient && !nearMiss(name, known))) {
        ignored ??= []
        if (ignored.length < namesMax) ignored.push(name)
      } else if (problems.length < namesMax) problems.push(unknownName(['query'], name, known))
    }
    if (problems.length > 0) throw new Fault('input.unknown', { problems })
    return ignored ?? none
  }
}

/** The value of `x-tetrad-ignored`. */
export const ignoredHeader = (names: readonly string[]): string =>
  withoutKeys(names.map((name) => name.slice(0, shownChars).toWellFormed()).join(','))
    .split(',')
    .map(encodeURIComponent)
    .join(',')

/** Cache busters and marks of campaigns, which are not meant for the server. */
const isTracking = (name: string): boolean => name === '_' || name === '_t' || name.startsWith('utm_')

/** The members of a body that its schema does not have, at any depth. */
export function unknownMembers(
  body: object,
  properties: Readonly<Record<string, JsonSchema>>,
  at: readonly string[] = ['body'],
): Problem[] {
  const known = new Set(Object.keys(properties))
  return Object.entries(body).flatMap(([name, value]) => {
    const inner = known.has(name) ? properties[name]?.properties : undefined
    if (!known.has(name)) return [unknownName(at, name, known)]
    return inner && typeof value === 'object' && value !== null ? unknownMembers(value, inner, [...at, name]) : []
  })
}

function unknownName(at: readonly string[], name: string, known: ReadonlySet<string>): Problem {
  const nearest = nearMiss(name, known) ?? similar(name, known)
  return { at: [...at, printable(name)], message: `is not known${nearest ? `; did you mean ${nearest}?` : ''}` }
}

const printable = (name: string): string => name.slice(0, shownChars).replaceAll(/[^\x21-\x7e]/g, '?')

/** Differences of spelling that do not count: letter case, camel case or hyphens for underscores, `name[]`. */
const normalized = (name: string): string =>
  name
    .replace(/\[\d*\]$/, '')
    .replaceAll(/[-_ ]/g, '')
    .toLowerCase()

/** Shorter names differ by one letter without meaning the same. */
const oneLetterMin = 4

/** The known name that this one is a misspelling of: spelled in another way, or one letter off. */
function nearMiss(name: string, known: ReadonlySet<string>): string | undefined {
  if (name.length > 2 * shownChars) return undefined
  const sent = normalized(name)
  let near: string | undefined
  for (const one of known) {
    const other = normalized(one)
    if (sent === other) return one
    if (other.length >= oneLetterMin && isOneOff(sent, other)) near ??= one
  }
  return near
}

/** One letter added, missing or replaced, or two neighbours swapped. */
function isOneOff(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false
  let start = 0
  while (start < a.length && a[start] === b[start]) start += 1
  const [restA, restB] = [a.slice(start), b.slice(start)]
  if (restA.slice(1) === restB || restA === restB.slice(1) || restA.slice(1) === restB.slice(1)) return true
  return restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2)
}

/** For the message only: a known name that begins with the same word, or contains the name. */
function similar(name: string, known: ReadonlySet<string>): string | undefined {
  const sent = normalized(name.slice(0, shownChars))
  if (sent.length < oneLetterMin) return undefined
  const all = [...known]
  return (
    all.find((one) => normalized(one).startsWith(sent) || sent.startsWith(normalized(one))) ??
    all.find((one) => normalized(one).includes(sent) || commonStart(normalized(one), sent) >= oneLetterMin)
  )
}

function commonStart(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length += 1
  return length
}

/** Headers that were examined and mean nothing here. Callers send few different names. */
const harmlessMax = 1000

type HeaderCheck = (headers: NamedParts['headers'], problems: Problem[], ignore: (name: string) => void) => void

/**
 * Finds misspellings of the headers of the endpoint. One with the value that the absent header stands for changes
 * nothing, so it is ignored. Undefined if the endpoint has no headers.
 */
function headerCheck({ headers = {}, input }: Endpoint, aliases: readonly string[]): HeaderCheck | undefined {
  const known = Object.values(headers)
  if (known.length === 0) return undefined
  const defaults = new Map(
    Object.entries(headers).map(([name, header]) => [
      header,
      (input.properties[name] as JsonSchema | undefined)?.default,
    ]),
  )
  const harmless = new Set([...known, ...aliases.map((alias) => alias.toLowerCase())])
  return (sent, problems, ignore) => {
    for (const name in sent) {
      if (harmless.has(name)) continue
      const meant = known.find((one) => isMisspelledHeader(name, one))
      if (meant === undefined) {
        if (harmless.size < harmlessMax) harmless.add(name)
      } else if (sent[name] === defaults.get(meant)) ignore(name)
      else problems.push({ at: ['header', printable(name)], message: `is not known; did you mean ${meant}?` })
    }
  }
}

/** One letter off, with or without `x-`. A header `x-…-network` of another interface also means the network. */
function isMisspelledHeader(name: string, known: string): boolean {
  if (name.length > 2 * shownChars) return false
  const [sent, other] = [name, known].map((one) => one.replace(/^x[-_]/, '')) as [string, string]
  const [a, b] = [normalized(sent), normalized(other)]
  if (a === b || isOneOff(a, b)) return true
  if (!known.startsWith('x-')) return false
  const [words, last] = [sent.split(/[-_]/), other.slice(other.lastIndexOf('-') + 1)]
  return words.length <= 2 && words.at(-1) === last
}
