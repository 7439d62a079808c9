// The reference: every endpoint as the OpenAPI document tells it, with a form to call it and the call as text.
import { useQuery } from '@tanstack/react-query'
import { groups } from '#api/routes.ts'
import { readJson } from '../http.ts'
import { Prose } from '../parts/backtick-text.tsx'
import { QueryResult } from '../parts/query-result.tsx'
import { hrefOf, type PageRoute } from '../route.ts'
import { type Document, type Entry, entriesOf } from './reference/document.ts'
import { EndpointPage } from './reference/endpoint-page.tsx'

export function Reference({ place }: { readonly place: PageRoute }) {
  const document = useQuery({
    queryKey: ['openapi'],
    queryFn: () => readJson<Document>('/openapi.json'),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const [endpointId] = place.parts
  return (
    <QueryResult of={document} waiting="Reading the OpenAPI document…">
      {(found) => {
        const entries = entriesOf(found)
        const chosen = entries.find(({ id }) => id === endpointId)
        return chosen ? (
          <EndpointPage key={chosen.id} entry={chosen} document={found} />
        ) : (
          <>
            {endpointId !== undefined && (
              <p className="note">
                There is no endpoint <code>{endpointId}</code>. These there are:
              </p>
            )}
            <Index document={found} entries={entries} />
          </>
        )
      }}
    </QueryResult>
  )
}

function Index({ document, entries }: { readonly document: Document; readonly entries: readonly Entry[] }) {
  return (
    <>
      <h1>API reference</h1>
      <p className="lead">
        <Prose text={document.info.summary} /> Choose an endpoint to see what it takes and gives, and to try it with
        your key. The same as a document: <a href="/openapi.json">openapi.json</a>.
      </p>
      <p>
        <Prose text={document.info.description} />
      </p>
      {groups.map((group) => (
        <section key={group} className="card" aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`}>{group}</h2>
          <p className="soft">
            <Prose text={document.tags.find(({ name }) => name === group)?.description} />
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
                        <Prose text={summary} />
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
