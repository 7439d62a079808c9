// The start page for visitors: what this server offers, with a live example of each interface.
import type { Group } from '#api/contract/routes.ts'
import { hrefOf } from '../route.ts'
import { openSearch } from '../search/search-button.tsx'
import { useConsoleContext } from '../session.tsx'
import { ExplorerExample, FxExample, MarketsExample, ValidatorsExample } from './home/examples.tsx'

interface Offer {
  readonly title: string
  readonly text: string
  readonly action: string
  readonly Example: () => React.ReactNode
}

const offers: Readonly<Record<Group, Offer>> = {
  explorer: {
    title: 'Chain explorer',
    text: 'Who funded an address first, traced back to a name.',
    action: 'Look up an address',
    Example: ExplorerExample,
  },
  fx: {
    title: 'FX quotes',
    text: 'Exchange quotes between tokens, with a signed receipt of the price.',
    action: 'Request a quote',
    Example: FxExample,
  },
  validators: {
    title: 'Validator ratings',
    text: 'How well validators work, what they earn, and whose fault a bad day was.',
    action: 'Find a validator',
    Example: ValidatorsExample,
  },
  markets: {
    title: 'Prediction markets',
    text: 'Prices of prediction markets, now and at any time in the past.',
    action: 'Browse markets',
    Example: MarketsExample,
  },
}

export function Home() {
  const { session, isReady } = useConsoleContext()
  const shown = (Object.keys(offers) as Group[]).filter((group) => session.groups?.[group].enabled !== false)
  return (
    <>
      <h1>Chain data, quotes, ratings and markets</h1>
      <p className="lead">
        Computed by this server from its own nodes and feeds. Each answer states how complete and how final it is.
      </p>
      <button type="button" className="find big-find" onClick={() => openSearch()}>
        Search an address, validator, pool, market or the documentation <kbd>/</kbd>
      </button>
      <div className="cards quad">
        {shown.map((group) => (
          <OfferCard key={group} group={group} hasExample={isReady} {...offers[group]} />
        ))}
      </div>
      <p className="soft small">
        For programs: <a href="/docs/">documentation</a> and <a href="/openapi.json">OpenAPI document</a>. For the
        operator: <a href={hrefOf('overview')}>status of this server</a>.
      </p>
    </>
  )
}

interface OfferCardProps extends Offer {
  readonly group: Group
  readonly hasExample: boolean
}

function OfferCard({ group, title, text, action, Example, hasExample }: OfferCardProps) {
  return (
    <section className="card offer" aria-labelledby={`offer-${group}`}>
      <h2 id={`offer-${group}`}>{title}</h2>
      <p className="soft">{text}</p>
      {hasExample ? <Example /> : <div className="example" />}
      <a className="action" href={hrefOf(group)}>
        {action} →
      </a>
    </section>
  )
}
