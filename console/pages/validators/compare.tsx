// The comparison page: selection of validators, pools or operators, range, and the comparison.
import { Card } from '../../parts/card.tsx'
import { Tabs } from '../../parts/controls.tsx'
import { go, hrefOf, type PageProps } from '../../route.ts'
import { CompareEntities } from './compare-entities.tsx'
import { CompareValidators } from './compare-validators.tsx'
import { Comparison } from './comparison.tsx'
import { type Measure, measures } from './comparison-figures.tsx'
import { NetworkChoice, ViewControls } from './controls.tsx'
import { type Chosen, indicesIn, namesIn, type Subject } from './side-by-side.ts'
import { queryOf, type ValidatorsView } from './view.ts'

const measureNames = Object.keys(measures) as Measure[]

export function Compare({ route, view }: PageProps & { readonly view: ValidatorsView }) {
  const of = route.query.get('of') ?? ''
  const [pool, operator] = [namesIn(route.query.getAll('pool')), namesIn(route.query.getAll('operator'))]
  const selection: Chosen = { of, pool, operator }
  const kind = operator.length > 0 ? 'operator' : pool.length > 0 ? 'pool' : undefined
  const measure = measureNames.find((name) => name === route.query.get('plot')) ?? 'effectiveness'
  const change = (to: { view?: ValidatorsView; selection?: Partial<Chosen>; plot?: Measure }) => {
    const plot = to.plot ?? measure
    const query = {
      ...queryOf(to.view ?? view),
      ...selection,
      ...to.selection,
      plot: plot === measureNames[0] ? '' : plot,
    }
    go('validators', ['compare'], query)
  }
  const onView = (newView: ValidatorsView) => change({ view: newView })
  const showComparison = (subjects: readonly Subject[]) => (
    <Card id="comparison" title="Comparison">
      <ViewControls
        view={view}
        onView={onView}
        choices={['day', 'week', 'month', 'quarter', 'year']}
        hasDayType={false}
      />
      <Tabs
        name="Plotted measure"
        value={measure}
        options={measureNames}
        labels={(name) => measures[name].label}
        onChoose={(plot) => change({ plot })}
      />
      <Comparison subjects={subjects} view={view} measure={measure} />
    </Card>
  )
  const props = {
    network: view.network,
    networkChoice: <NetworkChoice view={view} onView={onView} />,
    onChoose: (newSelection: Partial<Chosen>) => change({ selection: newSelection }),
    children: showComparison,
  }
  return (
    <>
      <p className="small">
        <a href={hrefOf('validators', [], { network: view.network })}>Validators</a> / {view.network}
      </p>
      <h1>Compare {kind === undefined ? 'validators' : `${kind}s`}</h1>
      <p className="lead">
        {kind === undefined ? 'Up to ten validators' : `All validators of each ${kind} combined`}, over the same days.{' '}
        {kind !== undefined && 'A day is included when it is over. '}
        You can bookmark this page to keep the selection.
      </p>
      {kind === undefined ? (
        <CompareValidators {...props} indices={indicesIn(of)} />
      ) : (
        <CompareEntities key={kind} {...props} kind={kind} names={selection[kind]} />
      )}
    </>
  )
}
