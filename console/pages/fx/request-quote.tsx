// The form to request a quote.
import { type FormEvent, useState } from 'react'
import { Failure, QueryResult } from '../../parts/query-result.tsx'
import { go } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'
import { useEndpoint } from '../../use-endpoint.ts'
import { hasWallet, requestAccount } from './wallet.ts'

/** Nobody has the key of this address. It is an example for browsers without a wallet. */
const burnAddress = `0x${'0'.repeat(36)}dEaD`

type Side = 'from' | 'to'
type Tenor = 'instant' | 'hourly' | 'daily'

export function RequestQuote() {
  const currencies = useEndpoint('fx.currencies', {})
  return (
    <QueryResult of={currencies} waiting="Loading currencies…">
      {({ reply }) => <QuoteForm codes={reply.currencies.map(({ currency }) => currency)} tenors={reply.tenors} />}
    </QueryResult>
  )
}

function QuoteForm({ codes, tenors }: { readonly codes: readonly string[]; readonly tenors: readonly Tenor[] }) {
  const { client } = useConsoleContext()
  const [from, setFrom] = useState(codes[0] ?? '')
  const [to, setTo] = useState(codes[1] ?? '')
  const [amountSide, setAmountSide] = useState<Side>('from')
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
        from: { currency: from, ...(amountSide === 'from' && { amount }) },
        to: { currency: to, ...(amountSide === 'to' && { amount }) },
        tenor,
        type: tradable ? 'tradable' : 'reference',
        ...(tradable && { recipientAddress: recipient }),
        // A request that is sent again over a slow network must not create a second quote.
        idempotencyKey: crypto.randomUUID(),
      })
      go('fx', [quote.id])
    } catch (failure) {
      setError(failure)
    }
    setBusy(false)
  }
  const fillWalletAddress = () => requestAccount().then(setRecipient, setError)
  return (
    <section className="card" aria-labelledby="ask">
      <h2 id="ask">Request a quote</h2>
      <form onSubmit={requestQuote}>
        <div className="row">
          <Choice name="You pay" value={from} of={codes} change={setFrom} />
          <Choice name="You receive" value={to} of={codes} change={setTo} />
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
            Amount is
            <select value={amountSide} onChange={({ target }) => setAmountSide(target.value as Side)}>
              <option value="from">what you pay</option>
              <option value="to">what you receive</option>
            </select>
          </label>
          <Choice name="Settlement" value={tenor} of={tenors} change={(text) => setTenor(text as Tenor)} />
          <label className="field">
            Type
            <select
              value={tradable ? 'tradable' : 'reference'}
              onChange={({ target }) => setTradable(target.value === 'tradable')}
            >
              <option value="tradable">tradable (you sign it)</option>
              <option value="reference">reference (price only)</option>
            </select>
          </label>
        </div>
        {tradable && (
          <div className="row gap-small">
            <label className="field wide">
              Recipient address
              <input
                className="mono"
                value={recipient}
                onChange={({ target }) => setRecipient(target.value.trim())}
                required
                pattern="0x[0-9a-fA-F]{40}"
                placeholder="0x…"
                title="0x followed by 40 hexadecimal digits"
              />
            </label>
            {hasWallet() ? (
              <button type="button" onClick={fillWalletAddress}>
                Use my wallet address
              </button>
            ) : (
              <button type="button" onClick={() => setRecipient(burnAddress)}>
                Use an example
              </button>
            )}
          </div>
        )}
        <p>
          <button type="submit" className="main" disabled={busy}>
            {busy ? 'Requesting…' : 'Get quote'}
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
        {of.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  )
}
