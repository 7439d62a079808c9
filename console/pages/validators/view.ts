// Network, granularity, range and plots of the validators page, parsed from the query of the address and back.
import { isNetworkName, type Network } from '#api/contract/wire/networks.ts'
import type { EffectivenessRecord } from '#api/contract/wire/validators.ts'

export const granularities = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const
export type Granularity = (typeof granularities)[number]

/** Which figures the plot over time shows. */
export const plotNames = ['effectiveness', 'votes', 'delay'] as const
export type PlotName = (typeof plotNames)[number]

/** Number of days up to the newest record. */
export const spans = ['7', '30', '90', '365', 'all'] as const
export type Span = (typeof spans)[number]

export interface ValidatorsView {
  readonly network: Network
  readonly granularity: Granularity
  /** UTC days instead of chain days. */
  readonly utc: boolean
  readonly last: Span
  /** Dates, both included; they take precedence over `last`. */
  readonly from: string
  readonly to: string
  readonly plot: PlotName
  /** The number of the chain day or UTC day whose duties are shown. */
  readonly day: number | undefined
}

const defaultView: ValidatorsView = {
  network: 'mainnet',
  granularity: 'day',
  utc: false,
  last: '30',
  from: '',
  to: '',
  plot: 'effectiveness',
  day: undefined,
}

const oneOf = <T extends string>(values: readonly T[], text: string | null, fallback: T): T =>
  values.find((value) => value === text) ?? fallback

const networkIn = (text: string | null): Network | undefined =>
  text !== null && isNetworkName(text) ? text : undefined

const isoDate = /^\d{4}-\d\d-\d\d$/
const dateIn = (query: URLSearchParams, name: string): string => {
  const text = query.get(name) ?? ''
  return isoDate.test(text) && !Number.isNaN(Date.parse(text)) ? text : ''
}

const dayIn = (text: string | null): number | undefined =>
  text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined

export const parseView = (query: URLSearchParams, defaultNetwork: Network = defaultView.network): ValidatorsView => ({
  network: networkIn(query.get('network')) ?? defaultNetwork,
  granularity: oneOf(granularities, query.get('granularity'), defaultView.granularity),
  utc: query.get('days') === 'utc',
  last: oneOf(spans, query.get('last'), defaultView.last),
  from: dateIn(query, 'from'),
  to: dateIn(query, 'to'),
  plot: oneOf(plotNames, query.get('plot'), defaultView.plot),
  day: dayIn(query.get('day')),
})

/**
 * The query of a view. Defaults are empty, and links leave them out. The network is always included, because its default
 * depends on the server.
 */
export const queryOf = (view: ValidatorsView) => ({
  network: view.network,
  granularity: view.granularity === defaultView.granularity ? '' : view.granularity,
  days: view.utc ? 'utc' : '',
  last: view.last === defaultView.last || view.from !== '' || view.to !== '' ? '' : view.last,
  from: view.from,
  to: view.to,
  plot: view.plot === defaultView.plot ? '' : view.plot,
  day: view.day,
})

/** The stored period that is nearest to the range of a view. */
export const periodOf = ({ last }: Pick<ValidatorsView, 'last'>): 'week' | 'month' | 'quarter' =>
  last === '7' ? 'week' : last === '30' ? 'month' : 'quarter'

const dayMs = 86_400_000

const dateBefore = (date: string, days: number): string =>
  new Date(Date.parse(date) - days * dayMs).toISOString().slice(0, 10)

interface DateBounds {
  readonly fromDate?: string
  readonly toDate?: string
}

/** The dates of a view; `newest` is the date of the newest record. */
export function boundsOf({ last, from, to }: Pick<ValidatorsView, 'last' | 'from' | 'to'>, newest: string): DateBounds {
  const [fromDate, toDate] = from !== '' && to !== '' && from > to ? [to, from] : [from, to]
  if (fromDate !== '' || toDate !== '')
    return { ...(fromDate !== '' && { fromDate }), ...(toDate !== '' && { toDate }) }
  return last === 'all' ? {} : { fromDate: dateBefore(newest, Number(last) - 1) }
}

const finerGranularity: Readonly<Record<Granularity, Granularity>> = {
  hour: 'hour',
  day: 'day',
  week: 'day',
  month: 'day',
  quarter: 'week',
  year: 'month',
}

type Window = Pick<EffectivenessRecord, 'startDay' | 'startDate' | 'endDate'>

/** The view after a click on a point of the plot: the duties of its day, or its range at a finer granularity. */
export function zoomInto(view: ValidatorsView, window: Window): ValidatorsView {
  if (view.granularity === 'hour' || view.granularity === 'day') return { ...view, day: window.startDay ?? undefined }
  return {
    ...view,
    granularity: finerGranularity[view.granularity],
    from: window.startDate ?? '',
    to: window.endDate ?? '',
    day: undefined,
  }
}
