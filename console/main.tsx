// Entry point of the console: query cache, session, app.
import { QueryClient, QueryClientProvider } from '@tanstack/preact-query'
import { render } from 'preact'
import { App } from './app.tsx'
import { startRouting } from './route.ts'
import { ConsoleContextProvider } from './session.tsx'
import './style.css'

// No retries here: the API client already retries what is safe to retry. `networkMode: 'always'` because the browser's
// online state does not tell whether this server is reachable; it may run on the same machine.
const queries = new QueryClient({
  defaultOptions: {
    queries: { networkMode: 'always', retry: false, staleTime: 10_000, refetchOnWindowFocus: false },
    mutations: { networkMode: 'always' },
  },
})

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root')
startRouting()
render(
  <QueryClientProvider client={queries}>
    <ConsoleContextProvider>
      <App />
    </ConsoleContextProvider>
  </QueryClientProvider>,
  root,
)
