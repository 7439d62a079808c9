// Selection of up to ten validators to compare, by index or public key.
import { useMutation } from '@tanstack/preact-query'
import { useMemo, useState } from 'preact/compat'
import type { Network } from '#api/contract/wire/validators.ts'
import { Form, Submit, TextField } from '../../parts/controls.tsx'
import { Failure } from '../../parts/query-result.tsx'
import { hrefOf } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import { type ComparisonProps, comparedMax, type Subject } from './side-by-side.ts'

interface CompareValidatorsProps extends ComparisonProps {
  readonly indices: readonly number[]
}

export function CompareValidators({ indices, network, networkChoice, onChoose, children }: CompareValidatorsProps) {
  // Keyed by the indices as text, so that the plot is not redrawn when the array is new but equal.
  const of = indices.join()
  const subjects = useMemo<readonly Subject[]>(() => [{ indices: of === '' ? [] : of.split(',').map(Number) }], [of])
  return (
    <>
      <section className="card" aria-label="Validators to compare">
        <div className="row">
          {networkChoice}
          <Add
            network={network}
            isFull={indices.length >= comparedMax}
            onAdd={(index) => onChoose({ of: [...indices, index].join() })}
          />
        </div>
        {indices.length > 0 && (
          <ul className="chosen" aria-label="Selected validators">
            {indices.map((index) => (
              <li key={index} className="badge">
                {index}
                <button
                  type="button"
                  className="plain"
                  aria-label={`Remove ${index}`}
                  onClick={() => onChoose({ of: indices.filter((other) => other !== index).join() })}
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
        <div className="card empty">
          <p>No validators selected. Add one above, or select some in the list of a pool.</p>
          <p>
            <a href={hrefOf('validators', [], { network })}>Choose a pool</a>
          </p>
        </div>
      )}
    </>
  )
}

interface AddProps {
  readonly network: Network
  readonly isFull: boolean
  readonly onAdd: (index: number) => void
}

/** Looks the validator up first: a public key needs its index, and an index may not exist. */
function Add({ network, isFull, onAdd }: AddProps) {
  const { client } = useConsoleContext()
  const [text, setText] = useState('')
  const add = useMutation({
    mutationFn: () => client.validators.metadata({ validator_index_or_pubkey: text.trim(), network }),
    onSuccess: ({ validatorIndex }) => {
      setText('')
      onAdd(validatorIndex)
    },
  })
  return (
    <Form className="row" onSubmit={() => add.mutate()}>
      <TextField
        label={isFull ? 'Maximum of ten reached' : 'Index or public key'}
        className="mono"
        value={text}
        required
        disabled={isFull}
        pattern="\s*(\d{1,12}|(0x)?[0-9a-fA-F]{96})\s*"
        title="The index of a validator, or its public key with 96 hexadecimal digits"
        onText={setText}
      />
      <Submit disabled={isFull}>Add</Submit>
      {add.error && (
        <Failure
          error={add.error}
          notFound={`This validator does not exist on ${network}. Check the index and the network.`}
        />
      )}
    </Form>
  )
}
