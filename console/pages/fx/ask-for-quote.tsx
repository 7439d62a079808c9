// The question: which currencies, how much, how soon, and for whom.
import { type FormEvent, useState } from 'react'
import { useEndpoint } from '../../calls.ts'
import { Failure, QueryResult } from '../../parts/query-result.tsx'
import { go } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import { accountOf, hasWallet } from './wallet.ts'

/** An address nobody has the key of: good for looking, not for trading. */
const burnAddress = `0x${'0'.repeat(36)}dEaD`

type Side = 'from' | 'to'
type Tenor = 'instant' | 'hourly' | 'daily'

export function AskForQuote() {
  const offered = useEndpoint('fx.currencies', {})
  return (
    <QueryResult of={offered} waiting="Reading what is offered…">
      {({ reply: { currencies, tenors } }) => (
        <Form codes={currencies.map(({ currency }) => currency)} tenors={tenors} />
      )}
    </QueryResult>
  )
}

function Form({ codes, tenors }: { readonly codes: readonly string[]; readonly tenors: readonly Tenor[] }) {
  const { client } = useConsoleContext()
  const [from, setFrom] = useState(codes[0] ?? '')
  const [to, setTo] = useState(codes[1] ?? '')
  const [given, setGiven] = useState<Side>('from')
  const [amount, setAmount] = useState('1000')
  const [tenor, setTenor] = useState<Tenor>(tenors[0] ?? 'instant')
  const [tradable, setTradable] = useState(true)
  const [recipient, setRecipient] = useState('')
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const requestQuote = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      const quote = await client.fx.createQuote({
        from: { currency: from, ...(given === 'from' && { amount }) },
        to: { currency: to, ...(given === 'to' && { amount }) },
        tenor,
        type: tradable ? 'tradable' : 'reference',
        ...(tradable && { recipientAddress: recipient }),
        // A click that is repeated by a slow network must not make two quotes.
        idempotencyKey: crypto.randomUUID(),
      })
      go('fx', [quote.id])
    } catch (failure) {
      setError(failure)
    }
    setBusy(false)
  }
  const takeAccount = () => accountOf().then(setRecipient, setError)
  return (
    <section className="card" aria-labelledby="ask">
      <h2 id="ask">Ask for a quote</h2>
      <form onSubmit={requestQuote}>
        <div className="row">
          <Choice name="You give" value={from} of={codes} change={setFrom} />
          <Choice name="You get" value={to} of={codes} change={setTo} />
          <label className="field">
            Amount
            <input
              inputMode="decimal"
              value={amount}
              onChange={({ target }) => setAmount(target.value.trim())}
              required
              pattern="\d+(\.\d{1,6})?"
              title="A number with up to six decimals"
            />
          </label>
          <label className="field">
            Of
            <select value={given} onChange={({ target }) => setGiven(target.value as Side)}>
              <option value="from">what you give</option>
              <option value="to">what you get</option>
            </select>
          </label>
          <Choice name="Settled" value={tenor} of={tenors} change={(text) => setTenor(text as Tenor)} />
          <label className="field">
            Kind
            <select
              value={tradable ? 'tradable' : 'reference'}
              onChange={({ target }) => setTradable(target.value === 'tradable')}
            >
              <option value="tradable">tradable: to be signed</option>
              <option value="reference">reference: to look at</option>
            </select>
          </label>
        </div>
        {tradable && (
          <div className="row gap-small">
            <label className="field wide">
              Who receives it (address)
              <input
                className="mono"
                value={recipient}
                onChange={({ target }) => setRecipient(target.value.trim())}
                required
                pattern="0x[0-9a-fA-F]{40}"
                placeholder="0x…"
                title="0x and 40 hexadecimal digits"
              />
            </label>
            {hasWallet() ? (
              <button type="button" onClick={takeAccount}>
                My wallet's
              </button>
            ) : (
              <button type="button" onClick={() => setRecipient(burnAddress)}>
                An example
              </button>
            )}
          </div>
        )}
        <p>
          <button type="submit" className="main" disabled={busy}>
            {busy ? 'Asking…' : 'Get a price'}
          </button>
        </p>
      </form>
      {error !== undefined && <Failure error={error} />}
    </section>
  )
}

interface ChoiceProps {
  readonly name: string
  readonly value: string
  readonly of: readonly string[]
  readonly change: (value: string) => void
}

function Choice({ name, value, of, change }: ChoiceProps) {
  return (
    <label className="field">
      {name}
      <select value={value} onChange={({ target }) => change(target.value)}>
        {of.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </label>
  )
}
