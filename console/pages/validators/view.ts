// How validators are looked at – network, windows, range – as the address tells it, and the address of another look.
import type { Network } from '#api/wire/validators.ts'

// Not the contract's own list: that would bring the schema kit into the browser.
export const networks = ['mainnet', 'hoodi', 'holesky'] as const satisfies readonly Network[]

export const grains = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const
export type Grain = (typeof grains)[number]

/** Which figures the plot over time shows. */
const plotNames = ['effectiveness', 'votes', 'delay'] as const
export type PlotName = (typeof plotNames)[number]

/** Which part of the ledger the plot of amounts shows. */
export const partNames = ['consensus', 'execution', 'penalties', 'missed'] as const
export type PartName = (typeof partNames)[number]

/** Days back from the newest record; `all` has no first one. */
export const spans = ['7', '30', '90', '365', 'all'] as const
export type Span = (typeof spans)[number]

export interface ValidatorsView {
  readonly network: Network
  readonly grain: Grain
  /** UTC days instead of chain days. */
  readonly utc: boolean
  readonly last: Span
  /** Dates, both included; they go before `last`. */
  readonly from: string
  readonly to: string
  readonly plot: PlotName
  readonly part: PartName
  /** A day that is looked at closely, by its number among chain days or UTC days. */
  readonly day: number | undefined
}

const defaultView: ValidatorsView = {
  network: 'mainnet',
  grain: 'day',
  utc: false,
  last: '90',
  from: '',
  to: '',
  plot: 'effectiveness',
  part: 'consensus',
  day: undefined,
}

const oneOf = <T extends string>(values: readonly T[], text: string | null, otherwise: T): T =>
  values.find((one) => one === text) ?? otherwise

const isoDate = /^\d{4}-\d\d-\d\d$/
const dateIn = (query: URLSearchParams, name: string): string => {
  const text = query.get(name) ?? ''
  return isoDate.test(text) && !Number.isNaN(Date.parse(text)) ? text : ''
}

const dayIn = (text: string | null): number | undefined =>
  text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined

/** Where the address names no network, `here` is looked at. */
export const parseView = (query: URLSearchParams, defaultNetwork: Network = defaultView.network): ValidatorsView => ({
  network: oneOf(networks, query.get('network'), defaultNetwork),
  grain: oneOf(grains, query.get('by'), defaultView.grain),
  utc: query.get('days') === 'utc',
  last: oneOf(spans, query.get('last'), defaultView.last),
  from: dateIn(query, 'from'),
  to: dateIn(query, 'to'),
  plot: oneOf(plotNames, query.get('show'), defaultView.plot),
  part: oneOf(partNames, query.get('money'), defaultView.part),
  day: dayIn(query.get('day')),
})

/** For `hrefOf`: what is as usual is left out, but for the network, so that a link that is passed on says it. */
export function queryOf(view: ValidatorsView): Record<string, string> {
  const given: Record<string, string> = {
    network: view.network,
    by: view.grain === defaultView.grain ? '' : view.grain,
    days: view.utc ? 'utc' : '',
    last: view.last === defaultView.last || view.from !== '' || view.to !== '' ? '' : view.last,
    from: view.from,
    to: view.to,
    show: view.plot === defaultView.plot ? '' : view.plot,
    money: view.part === defaultView.part ? '' : view.part,
    day: view.day === undefined ? '' : String(view.day),
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
export function boundsOf({ last, from, to }: Pick<ValidatorsView, 'last' | 'from' | 'to'>, newest: string): DateBounds {
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
export function closer(view: ValidatorsView, window: Window): ValidatorsView {
  if (view.grain === 'hour' || view.grain === 'day') return { ...view, day: window.startDay ?? undefined }
  return { ...view, grain: finer[view.grain], from: window.startDate ?? '', to: window.endDate ?? '', day: undefined }
}
