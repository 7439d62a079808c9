// Parses the daily euro reference rates of the ECB: an XML document with one Cube element per day, which contains one Cube
// element per currency. Only these elements are read, so no XML library is needed. Pure.
import { instantOf } from '#core/closed-hours.ts'
import { parseDay } from '#core/parse-timestamp.ts'
import type { FxSource } from '#runtime/settings/fx.ts'
import { type ParsedRates, toParsedRates, validateRate } from './rate-document.ts'

const daysMax = 100
const entriesMax = 10_000
/** The document has dates without a time. The bank fixes the rates at about this time. */
const fixedAt = { timeZone: 'Europe/Berlin', minutes: 14 * 60 + 10 }

const cube = /<(?:[\w-]+:)?Cube\b([^<>]*)>/g
/** The lookbehind keeps the match linear: without it, a long run of letters is scanned from every position. */
const attribute = /(?<![\w-])([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g

export function parseEcbDocument(text: string, source: FxSource, nowMs: number): ParsedRates {
  const results: ReturnType<typeof validateRate>[] = []
  let atMs: number | undefined
  let days = 0
  for (const [, inside = ''] of text.matchAll(cube)) {
    const { time, currency, rate } = attributesOf(inside)
    if (time !== undefined) {
      atMs = fixingMs(time)
      days += 1
      if (days > daysMax) throw new Error(`the document has more than ${daysMax} days`)
    } else if (currency !== undefined || rate !== undefined) {
      if (results.length >= entriesMax) throw new Error(`the document has more than ${entriesMax} rates`)
      results.push(validateRate({ source: source.id, base: 'EUR', quote: currency, rate, atMs }, nowMs))
    }
  }
  if (days === 0 || results.length === 0) {
    throw new Error('the document has no Cube elements with a time and rates. Use the URL of the daily rates in XML')
  }
  return toParsedRates(results)
}

function attributesOf(text: string): { time?: string; currency?: string; rate?: string } {
  return Object.fromEntries([...text.matchAll(attribute)].map(([, name, double, single]) => [name, double ?? single]))
}

function fixingMs(day: string): number | undefined {
  const midnightMs = parseDay(day)
  return midnightMs === undefined ? undefined : instantOf(fixedAt.timeZone, midnightMs + fixedAt.minutes * 60_000)
}
