// How validators are looked at – network, windows, range – as the address tells it, and the address of another look.
import type { Network } from '#api/wire/validators.ts'

// Not the contract's own list: that would bring the schema kit into the browser.
export const networks = ['mainnet', 'hoodi', 'holesky'] as const satisfies readonly Network[]

export const grains = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const
export type Grain = (typeof grains)[number]

/** Which figures the plot over time shows. */
const sights = ['effectiveness', 'votes', 'delay'] as const
export type Sight = (typeof sights)[number]

/** Which part of the ledger the plot of amounts shows. */
export const partNames = ['consensus', 'execution', 'penalties', 'missed'] as const
export type PartName = (typeof partNames)[number]

/** Days back from the newest record; `all` has no first one. */
export const spans = ['7', '30', '90', '365', 'all'] as const
export type Span = (typeof spans)[number]

export interface Look {
  readonly network: Network
  readonly grain: Grain
  /** UTC days instead of chain days. */
  readonly utc: boolean
  readonly last: Span
  /** Dates, both included; they go before `last`. */
  readonly from: string
  readonly to: string
  readonly sight: Sight
  readonly part: PartName
  /** A day that is looked at closely, by its number among chain days or UTC days. */
  readonly day: number | undefined
}

const usual: Look = {
  network: 'mainnet',
  grain: 'day',
  utc: false,
  last: '90',
  from: '',
  to: '',
  sight: 'effectiveness',
  part: 'consensus',
  day: undefined,
}

const oneOf = <T extends string>(words: readonly T[], word: string | null, otherwise: T): T =>
  words.find((one) => one === word) ?? otherwise

const isoDate = /^\d{4}-\d\d-\d\d$/
const dateIn = (query: URLSearchParams, name: string): string => {
  const text = query.get(name) ?? ''
  return isoDate.test(text) && !Number.isNaN(Date.parse(text)) ? text : ''
}

const dayIn = (text: string | null): number | undefined =>
  text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined

/** Where the address names no network, `here` is looked at. */
export const lookOf = (query: URLSearchParams, here: Network = usual.network): Look => ({
  network: oneOf(networks, query.get('network'), here),
  grain: oneOf(grains, query.get('by'), usual.grain),
  utc: query.get('days') === 'utc',
  last: oneOf(spans, query.get('last'), usual.last),
  from: dateIn(query, 'from'),
  to: dateIn(query, 'to'),
  sight: oneOf(sights, query.get('show'), usual.sight),
  part: oneOf(partNames, query.get('money'), usual.part),
  day: dayIn(query.get('day')),
})

/** For `hrefOf`: what is as usual is left out, but for the network, so that a link that is passed on says it. */
export function queryOf(look: Look): Record<string, string> {
  const given: Record<string, string> = {
    network: look.network,
    by: look.grain === usual.grain ? '' : look.grain,
    days: look.utc ? 'utc' : '',
    last: look.last === usual.last || look.from !== '' || look.to !== '' ? '' : look.last,
    from: look.from,
    to: look.to,
    show: look.sight === usual.sight ? '' : look.sight,
    money: look.part === usual.part ? '' : look.part,
    day: look.day === undefined ? '' : String(look.day),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''))
}

const dayMs = 86_400_000

const dateBefore = (date: string, days: number): string =>
  new Date(Date.parse(date) - days * dayMs).toISOString().slice(0, 10)

export interface DateBounds {
  readonly fromDate?: string
  readonly toDate?: string
}

/** The dates a look asks for; `newest` is the date of the newest record, from which the days are counted back. */
export function boundsOf({ last, from, to }: Pick<Look, 'last' | 'from' | 'to'>, newest: string): DateBounds {
  // Told the wrong way round they mean the same days.
  const [fromDate, toDate] = from !== '' && to !== '' && from > to ? [to, from] : [from, to]
  if (fromDate !== '' || toDate !== '')
    return { ...(fromDate !== '' && { fromDate }), ...(toDate !== '' && { toDate }) }
  return last === 'all' ? {} : { fromDate: dateBefore(newest, Number(last) - 1) }
}

const finer: Readonly<Record<Grain, Grain>> = {
  hour: 'hour',
  day: 'day',
  week: 'day',
  month: 'day',
  quarter: 'week',
  year: 'month',
}

interface Window {
  readonly startDay: number | null
  readonly startDate: string | null
  readonly endDate: string | null
}

/** What picking a window of the plot leads to: its day, or its own days in finer windows. */
export function closer(look: Look, window: Window): Look {
  if (look.grain === 'hour' || look.grain === 'day') return { ...look, day: window.startDay ?? undefined }
  return { ...look, grain: finer[look.grain], from: window.startDate ?? '', to: window.endDate ?? '', day: undefined }
}
