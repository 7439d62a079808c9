// The API reference: every endpoint of the OpenAPI document, with a form to call it and sample code.
import { useQuery } from '@tanstack/react-query'
import { groups } from '#api/routes.ts'
import { readJson } from '../http.ts'
import { BacktickText } from '../parts/backtick-text.tsx'
import { QueryResult } from '../parts/query-result.tsx'
import { hrefOf, type PageProps } from '../route.ts'
import { type Document, type Entry, entriesOf } from './reference/document.ts'
import { EndpointPage } from './reference/endpoint-page.tsx'

export function Reference({ route }: PageProps) {
  const document = useQuery({
    queryKey: ['openapi'],
    queryFn: () => readJson<Document>('/openapi.json'),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const [endpointId] = route.parts
  return (
    <QueryResult of={document} waiting="Loading the OpenAPI document…">
      {(data) => {
        const entries = entriesOf(data)
        const selected = entries.find(({ id }) => id === endpointId)
        return selected ? (
          <EndpointPage key={selected.id} entry={selected} document={data} />
        ) : (
          <>
            {endpointId !== undefined && (
              <p className="note">
                Endpoint <code>{endpointId}</code> does not exist. Choose one from the list.
              </p>
            )}
            <EndpointList document={data} entries={entries} />
          </>
        )
      }}
    </QueryResult>
  )
}

function EndpointList({ document, entries }: { readonly document: Document; readonly entries: readonly Entry[] }) {
  return (
    <>
      <h1>API reference</h1>
      <p className="lead">
        <BacktickText text={document.info.summary} /> Choose an endpoint to see its parameters, response and errors, and
        to try it with your key. Machine-readable: <a href="/openapi.json">openapi.json</a>.
      </p>
      <p>
        <BacktickText text={document.info.description} />
      </p>
      {groups.map((group) => (
        <section key={group} className="card" aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`}>{group}</h2>
          <p className="soft">
            <BacktickText text={document.tags.find(({ name }) => name === group)?.description} />
          </p>
          <table>
            <tbody>
              {entries
                .filter((entry) => entry.group === group)
                .map(({ id, method, path, summary, select }) => (
                  <tr key={id}>
                    <td>
                      <a href={hrefOf('reference', [id])}>{id}</a>
                      <br />
                      <span className="soft small">
                        <BacktickText text={summary} />
                      </span>
                    </td>
                    <td>
                      <code>
                        {method} {path}
                      </code>
                      {select && (
                        <>
                          <br />
                          <code className="soft">
                            module={select.module} action={select.action}
                          </code>
                        </>
                      )}
                    </td>
                  </tr>
                ))}
            </tbody>
          </table>
        </section>
      ))}
    </>
  )
}
