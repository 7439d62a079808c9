// The live examples of the start page: one small result of each interface, from the data of this server.
import type { UseQueryResult } from '@tanstack/preact-query'
import type { ReactNode } from 'preact/compat'
import type { Market } from '#api/contract/wire/markets.ts'
import { AddressLink } from '../../parts/address-link.tsx'
import { demoAddress } from '../../parts/demo-address.ts'
import { isAboutKeys } from '../../parts/failures.ts'
import { formatDates, formatTime } from '../../parts/format.ts'
import { Rating } from '../../parts/rating.tsx'
import { hrefOf } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import { useEndpoint } from '../../use-endpoint.ts'
import { Outcomes } from '../markets/outcomes.tsx'
import { useDefaultNetwork } from '../validators/networks.ts'

interface ExampleProps<T> {
  readonly of: UseQueryResult<T>
  /** Undefined: the server has no data for an example. */
  readonly children: (data: T) => ReactNode | undefined
}

/** A start page shows no errors: without an example, the card still leads to its page. */
function Example<T>({ of, children }: ExampleProps<T>) {
  const content = of.data === undefined ? undefined : children(of.data)
  return <div className="example">{content ?? <p className="soft small">{insteadOf(of)}</p>}</div>
}

function insteadOf({ data, error, isFetching }: UseQueryResult<unknown>): string {
  if (error) return isAboutKeys(error) ? 'Set a key to see an example.' : 'There is no example at the moment.'
  return data === undefined && isFetching ? 'Loading an example…' : 'This server has no data for an example yet.'
}

/** A word that most label lists contain. */
const exampleSearch = 'exchange'

export function ExplorerExample() {
  const { session } = useConsoleContext()
  const isDemo = session.demoKey !== undefined
  const chainid = session.chains?.[0]?.id ?? '1'
  const labels = useEndpoint('explorer.labelSearch', { q: exampleSearch, chainid }, { isEnabled: !isDemo })
  const labelled = labels.data?.reply.result.find(({ address }) => address !== undefined)?.address
  const address = isDemo ? demoAddress : labelled
  const trail = useEndpoint('explorer.trail', { chainid, address: address ?? '' }, { isEnabled: address !== undefined })
  if (address === undefined) return <Example of={labels}>{() => undefined}</Example>
  return (
    <Example of={trail}>
      {({ reply: { result } }) => {
        const first = result.hops[0]
        return (
          first && (
            <>
              <p>
                <AddressLink chain={chainid} address={address} /> was first funded on{' '}
                <span className="nowrap">{formatTime(Number(first.timeStamp)).slice(0, 10)}.</span>
              </p>
              <p>
                <strong className="figure">
                  {result.end.reason === 'label' ? result.end.message : 'No name known'}
                </strong>
                <br />
                <span className="soft small">
                  {result.end.reason === 'label' ? 'where its money comes from, ' : ''}
                  {result.hops.length === 1 ? '1 step' : `${result.hops.length} steps`} back
                </span>
              </p>
            </>
          )
        )
      }}
    </Example>
  )
}

const [base, quote] = ['EUR', 'USD']

export function FxExample() {
  const history = useEndpoint('fx.rateHistory', { base, quote, hours: 1 }, { refreshMs: 15_000 })
  return (
    <Example of={history}>
      {({ reply: { sources } }) => {
        const newest = sources.flatMap(({ source, points }) => {
          const point = points.at(-1)
          return point ? [{ source, ...point }] : []
        })
        return newest.length === 0 ? undefined : (
          <dl className="figures">
            {newest.slice(0, 3).map(({ source, rate, at }) => (
              <div key={source}>
                <dt>
                  {base}/{quote}, {source}
                </dt>
                <dd className="big">
                  {rate.toLocaleString('en', { minimumFractionDigits: 5, maximumFractionDigits: 5 })}
                </dd>
                <dd className="small soft">{formatTime(at).slice(11)}</dd>
              </div>
            ))}
          </dl>
        )
      }}
    </Example>
  )
}

const poolsShown = 3
/** Some of them may not be shown. */
const poolsRequested = 20

export function ValidatorsExample() {
  const network = useDefaultNetwork()
  const pools = useEndpoint(
    'validators.entities',
    {
      ...{ network: network ?? 'mainnet', kind: 'pool', period: 'month' },
      ...{ sort: 'validatorEffectiveness', sortOrder: 'desc', limit: poolsRequested },
    },
    { isEnabled: network !== undefined },
  )
  return (
    <Example of={pools}>
      {({ reply: { entities, startDate, endDate } }) => {
        // A slashing does not lower the effectiveness of a pool.
        const best = entities.filter(({ slashesReceived }) => Number(slashesReceived) === 0).slice(0, poolsShown)
        return best.length === 0 ? undefined : (
          <>
            <ul className="ranking">
              {best.map(({ name, validatorEffectiveness }) => (
                <li key={name}>
                  <a href={hrefOf('validators', [], { network, q: name })}>{name}</a>
                  <Rating value={validatorEffectiveness} />
                </li>
              ))}
            </ul>
            <p className="soft small">
              Best pools on {network} without a slashing, {formatDates(startDate, endDate)}. 100 is perfect.
            </p>
          </>
        )
      }}
    </Example>
  )
}

export function MarketsExample() {
  const markets = useEndpoint('markets.search', { q: '', limit: 1 }, { refreshMs: 10_000 })
  return (
    <Example of={markets}>
      {({ reply: { markets: found } }) => {
        const market = found[0]
        return (
          market && (
            <>
              <p>
                <a href={hrefOf('markets', [market.slug ?? ''])}>{market.question || market.slug}</a>
              </p>
              <Outcomes market={market as Market} />
            </>
          )
        )
      }}
    </Example>
  )
}
