// The receipt of a quote: the rates, mid, spread and fee behind the price, signed by the server.
import type { SignedReceipt } from '#api/wire/fx-extensions.ts'
import { Columns } from '../../parts/columns.tsx'
import { Copyable } from '../../parts/copyable.tsx'
import { formatTime } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { Scroll } from '../../parts/scroll.tsx'
import { useEndpoint } from '../../use-endpoint.ts'

export function ReceiptCard({ id }: { readonly id: string }) {
  const receipt = useEndpoint('fx.receipt', { id })
  return (
    <section className="card" aria-labelledby="receipt">
      <h2 id="receipt">Price receipt</h2>
      <QueryResult of={receipt} notFound="No receipt is stored for this quote.">
        {({ reply }) => <Figures signed={reply} />}
      </QueryResult>
    </section>
  )
}

/** Parts per million as basis points, exactly. */
const bps = (ppm: number): string => `${ppm / 100} bp`

function Figures({ signed }: { readonly signed: SignedReceipt }) {
  const { receipt, signature } = signed
  const { mid, terms } = receipt
  const rates = [
    ...receipt.rates.map((rate) => ({ ...rate, used: true })),
    ...receipt.excluded.map((rate) => ({ ...rate, used: false })),
  ]
  return (
    <>
      <Scroll name="Rates behind the price">
        <table>
          <Columns of={['Source', 'Pair', 'Rate', 'Time', 'Used']} figures={['Rate']} />
          <tbody>
            {rates.map(({ source, base, quote, rate, at, used }) => (
              <tr key={`${source} ${base} ${quote}`}>
                <td>{source}</td>
                <td>
                  {base}/{quote}
                </td>
                <td className="num mono">{rate}</td>
                <td>{formatTime(at)}</td>
                <td>{used ? 'yes' : <span className="warn">no: too far from the other sources</span>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <dl className="facts gap-small">
        <dt>Mid rate</dt>
        <dd>
          <code>
            {mid.numerator} / {mid.denominator}
          </code>
          {receipt.via !== null && <span className="soft"> via {receipt.via}</span>}
        </dd>
        <dt>Spread</dt>
        <dd>{bps(terms.spreadPpm)} from the mid rate</dd>
        <dt>Fee</dt>
        <dd>{bps(terms.feePpm)}</dd>
        <dt>Exact rate</dt>
        <dd className="mono">{receipt.quote.rate}</dd>
        <dt>Signed by</dt>
        <dd>
          key <code>{signature.keyId}</code> (Ed25519)
        </dd>
      </dl>
      <details>
        <summary>Show the signed receipt</summary>
        <p className="soft small">
          Verify it without this server: <code>tetrad fx verify-receipt receipt.json</code>
        </p>
        <Copyable title="receipt.json" text={JSON.stringify(signed, null, 2)} />
      </details>
    </>
  )
}
