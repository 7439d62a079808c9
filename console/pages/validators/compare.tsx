// Validators or pools beside each other: which ones, over which days, and the way to others.
import { go, hrefOf, type Place } from '../../place.ts'
import type { Chosen } from './compare-parts.ts'
import { ComparePools } from './compare-pools.tsx'
import { CompareSingle } from './compare-single.tsx'
import { type Measure, measures, measureWords } from './compared.tsx'
import { Comparison } from './comparison.tsx'
import { LookControls, NetworkChoice, Tabs } from './controls.tsx'
import { type Look, queryOf } from './look.ts'
import { indicesIn, type Parties } from './side-by-side.ts'

export function Compare({ place, look }: { readonly place: Place; readonly look: Look }) {
  const [of = '', pool = '', against = ''] = ['of', 'pool', 'against'].map((name) => place.query.get(name) ?? '')
  const chosen: Chosen = { of, pool, against }
  const isPools = pool !== '' || against !== ''
  const measure = measures.find((one) => one === place.query.get('show')) ?? 'effectiveness'
  const change = (to: { look?: Look; chosen?: Partial<Chosen>; show?: Measure }) => {
    const show = to.show ?? measure
    const query = { ...queryOf(to.look ?? look), ...chosen, ...to.chosen, show: show === measures[0] ? '' : show }
    go('validators', ['compare'], query)
  }
  const onLook = (other: Look) => change({ look: other })
  const sideBySide = (parties: Parties) => (
    <section className="card" aria-labelledby="beside">
      <h2 id="beside">Side by side</h2>
      <LookControls look={look} onLook={onLook} windows={['day', 'week', 'month', 'quarter', 'year']} kinds={false} />
      <Tabs name="What the plot shows" value={measure} words={measureWords} onChoose={(show) => change({ show })} />
      <Comparison parties={parties} look={look} measure={measure} />
    </section>
  )
  const parts = {
    network: look.network,
    networkChoice: <NetworkChoice look={look} onLook={onLook} />,
    onChoose: (other: Partial<Chosen>) => change({ chosen: other }),
    children: sideBySide,
  }
  return (
    <>
      <p className="small">
        <a href={hrefOf('validators', [], { network: look.network })}>Validators</a> / {look.network}
      </p>
      <h1>{isPools ? 'Compare two pools' : 'Compare validators'}</h1>
      <p className="lead">
        {isPools ? 'All validators of each pool taken together' : 'Up to ten validators'}, over the same days. The
        address keeps the choice.
      </p>
      {isPools ? (
        <ComparePools {...parts} pools={[pool, against]} />
      ) : (
        <CompareSingle {...parts} indices={indicesIn(of)} />
      )}
    </>
  )
}
