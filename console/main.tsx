// Where the browser starts.
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { ConsoleContextProvider } from './session.tsx'
import './style.css'

// The client repeats what is safe to repeat; a second layer would only multiply it. Whether the browser believes to be
// online says nothing about this server: it may run on the same machine, and it may be gone while the network is there.
const queries = new QueryClient({
  defaultOptions: {
    queries: { networkMode: 'always', retry: false, staleTime: 10_000, refetchOnWindowFocus: false },
    mutations: { networkMode: 'always' },
  },
})

const root = document.getElementById('root')
if (!root) throw new Error('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <ConsoleContextProvider>
        <App />
      </ConsoleContextProvider>
    </QueryClientProvider>
  </StrictMode>,
)
