// The way to a validator: one field for everything that may name one, and the pools for those who know no name yet.
import { type FormEvent, useState } from 'react'
import type { Network } from '#api/wire/validators.ts'
import { go, hrefOf, type PageRoute } from '../../route.ts'
import { NetworkChoice } from './controls.tsx'
import { Examples } from './examples.tsx'
import { Pools } from './pools.tsx'
import { ValidatorResults } from './results.tsx'
import { parseSearch, type SearchField } from './search.ts'
import type { ValidatorsView } from './view.ts'

export function Find({ place, look: view }: { readonly place: PageRoute; readonly look: ValidatorsView }) {
  const { network } = view
  const q = place.query.get('q') ?? ''
  const search = parseSearch(q)
  return (
    <>
      <h1>Validators</h1>
      <p className="lead">
        How well validators do their duties and what they earn, computed from finalized epochs of your own beacon node.
        Find one, or set several beside each other.
      </p>
      <section className="card" aria-label="Find validators">
        <div className="row">
          <NetworkChoice view={view} onView={(other) => go('validators', [], { network: other.network, q })} />
          <Search key={q} q={q} network={network} />
          <a href={hrefOf('validators', ['compare'], { network })}>Compare</a>
        </div>
        <Examples network={network} />
      </section>
      {search.is === 'one' && (
        <p className="note">
          That names one validator: <a href={hrefOf('validators', [search.id], { network })}>see how it did</a>.
        </p>
      )}
      {search.is === 'some' &&
        search.by.map((by) => (
          <ValidatorResults
            key={`${by} ${search.value}`}
            title={`${titles[by]} ${search.value}`}
            network={network}
            query={{ [by]: search.value }}
          />
        ))}
      {search.is !== 'one' && <Pools network={network} like={search.is === 'nothing' ? '' : search.value} />}
    </>
  )
}

const titles: Readonly<Record<SearchField, string>> = {
  pubkey: 'Keys that begin with',
  pool: 'In the pool',
  nodeOperator: 'Run by',
  depositAddress: 'Deposited by',
  withdrawalAddress: 'Withdrawing to',
}

function Search({ q, network }: { readonly q: string; readonly network: Network }) {
  const [text, setText] = useState(q)
  const find = (event: FormEvent) => {
    event.preventDefault()
    const search = parseSearch(text)
    if (search.is === 'one') go('validators', [search.id], { network })
    else go('validators', [], { network, q: text.trim() })
  }
  return (
    <form className="row search" onSubmit={find} aria-label="Find">
      <label className="field wide">
        Index, public key, pool, node operator, deposit or withdrawal address
        <input className="mono" type="search" value={text} onChange={({ target }) => setText(target.value)} />
      </label>
      <button type="submit" className="main">
        Find
      </button>
    </form>
  )
}
