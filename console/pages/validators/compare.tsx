// Validators or pools beside each other: which ones, over which days, and the way to others.
import { go, hrefOf, type PageRoute } from '../../route.ts'
import type { Chosen } from './compare-parts.ts'
import { ComparePools } from './compare-pools.tsx'
import { CompareSingle } from './compare-single.tsx'
import { type Measure, measureLabels, measures } from './compared.tsx'
import { Comparison } from './comparison.tsx'
import { NetworkChoice, Tabs, ViewControls } from './controls.tsx'
import { indicesIn, type Subjects } from './side-by-side.ts'
import { queryOf, type ValidatorsView } from './view.ts'

export function Compare({ place, look: view }: { readonly place: PageRoute; readonly look: ValidatorsView }) {
  const [of = '', pool = '', against = ''] = ['of', 'pool', 'against'].map((name) => place.query.get(name) ?? '')
  const chosen: Chosen = { of, pool, against }
  const isPools = pool !== '' || against !== ''
  const measure = measures.find((one) => one === place.query.get('show')) ?? 'effectiveness'
  const change = (to: { look?: ValidatorsView; chosen?: Partial<Chosen>; show?: Measure }) => {
    const show = to.show ?? measure
    const query = { ...queryOf(to.look ?? view), ...chosen, ...to.chosen, show: show === measures[0] ? '' : show }
    go('validators', ['compare'], query)
  }
  const onView = (other: ValidatorsView) => change({ look: other })
  const sideBySide = (subjects: Subjects) => (
    <section className="card" aria-labelledby="beside">
      <h2 id="beside">Side by side</h2>
      <ViewControls view={view} onView={onView} windows={['day', 'week', 'month', 'quarter', 'year']} kinds={false} />
      <Tabs name="What the plot shows" value={measure} labels={measureLabels} onChoose={(show) => change({ show })} />
      <Comparison subjects={subjects} view={view} measure={measure} />
    </section>
  )
  const parts = {
    network: view.network,
    networkChoice: <NetworkChoice view={view} onView={onView} />,
    onChoose: (other: Partial<Chosen>) => change({ chosen: other }),
    children: sideBySide,
  }
  return (
    <>
      <p className="small">
        <a href={hrefOf('validators', [], { network: view.network })}>Validators</a> / {view.network}
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
