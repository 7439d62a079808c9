// Up to ten validators to compare: adding one by index or key, leaving one out.
import { type FormEvent, useMemo, useState } from 'react'
import type { Network } from '#api/wire/validators.ts'
import { Failure } from '../../parts/query-result.tsx'
import { hrefOf } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import type { ComparisonProps } from './compare-parts.ts'
import { comparedMax, type Subjects } from './side-by-side.ts'

interface CompareSingleProps extends ComparisonProps {
  readonly indices: readonly number[]
}

export function CompareSingle({ indices, network, networkChoice, onChoose, children }: CompareSingleProps) {
  // The same validators are the same parties, so that a plot that stands is not drawn anew.
  const of = indices.join()
  const subjects = useMemo<Subjects>(
    () => [
      {
        indices: of === '' ? [] : of.split(',').map(Number),
        hrefOf: (index) => hrefOf('validators', [index], { network }),
      },
    ],
    [of, network],
  )
  return (
    <>
      <section className="card" aria-label="What is compared">
        <div className="row">
          {networkChoice}
          <Add
            network={network}
            isFull={indices.length >= comparedMax}
            onAdd={(index) => onChoose({ of: [...indices, index].join() })}
          />
        </div>
        {indices.length > 0 && (
          <ul className="chosen" aria-label="Compared">
            {indices.map((index) => (
              <li key={index} className="badge">
                {index}
                <button
                  type="button"
                  className="plain"
                  aria-label={`Leave out ${index}`}
                  onClick={() => onChoose({ of: indices.filter((one) => one !== index).join() })}
                >
                  ×
                </button>
              </li>
            ))}
          </ul>
        )}
      </section>
      {indices.length > 0 ? (
        children(subjects)
      ) : (
        <p className="note">
          Nothing is chosen yet. Add a validator above, or choose some{' '}
          <a href={hrefOf('validators', [], { network })}>from a pool</a>.
        </p>
      )}
    </>
  )
}

interface AddProps {
  readonly network: Network
  readonly isFull: boolean
  readonly onAdd: (index: number) => void
}

/** A key is asked for its index; so is an index, which may be one that nobody knows. */
function Add({ network, isFull, onAdd }: AddProps) {
  const { client } = useConsoleContext()
  const [text, setText] = useState('')
  const [error, setError] = useState<unknown>()
  const add = async (event: FormEvent) => {
    event.preventDefault()
    setError(undefined)
    try {
      const found = await client.validators.metadata({ validator_index_or_pubkey: text.trim(), network })
      setText('')
      onAdd(found.validatorIndex)
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <form className="row" onSubmit={(event) => void add(event)}>
      <label className="field">
        {isFull ? 'Ten are the most' : 'Add by index or public key'}
        <input
          className="mono"
          value={text}
          required
          disabled={isFull}
          pattern="\s*(\d{1,12}|(0x)?[0-9a-fA-F]{96})\s*"
          title="A validator's index, or its public key of 96 hexadecimal digits"
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      <button type="submit" className="main" disabled={isFull}>
        Add
      </button>
      {error !== undefined && (
        <Failure error={error} nothing={`${network} has no such validator. Check the number, or the network.`} />
      )}
    </form>
  )
}
