// The way to a validator: one field for everything that may name one, and the pools for those who know no name yet.
import { type FormEvent, useState } from 'react'
import type { Network } from '#api/wire/validators.ts'
import { go, hrefOf, type Place } from '../../place.ts'
import { type AskedBy, askedFor } from './asked.ts'
import { NetworkChoice } from './controls.tsx'
import { Examples } from './examples.tsx'
import { Found } from './found.tsx'
import type { Look } from './look.ts'
import { Pools } from './pools.tsx'

export function Find({ place, look }: { readonly place: Place; readonly look: Look }) {
  const { network } = look
  const q = place.query.get('q') ?? ''
  const asked = askedFor(q)
  return (
    <>
      <h1>Validators</h1>
      <p className="lead">
        How well validators do their duties and what they earn, computed from finalized epochs of your own beacon node.
        Find one, or set several beside each other.
      </p>
      <section className="card" aria-label="Find validators">
        <div className="row">
          <NetworkChoice look={look} onLook={(other) => go('validators', [], { network: other.network, q })} />
          <Search key={q} q={q} network={network} />
          <a href={hrefOf('validators', ['compare'], { network })}>Compare</a>
        </div>
        <Examples network={network} />
      </section>
      {asked.is === 'one' && (
        <p className="note">
          That names one validator: <a href={hrefOf('validators', [asked.id], { network })}>see how it did</a>.
        </p>
      )}
      {asked.is === 'some' &&
        asked.by.map((by) => (
          <Found
            key={`${by} ${asked.value}`}
            title={`${titles[by]} ${asked.value}`}
            network={network}
            question={{ [by]: asked.value }}
          />
        ))}
      {asked.is !== 'one' && <Pools network={network} like={asked.is === 'nothing' ? '' : asked.value} />}
    </>
  )
}

const titles: Readonly<Record<AskedBy, string>> = {
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
    const asked = askedFor(text)
    if (asked.is === 'one') go('validators', [asked.id], { network })
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
