/**
 * The shapes of the HTTP API, as the server describes them: written by `python -m tools.client`, not by hand.
 * Made from efbee081f9ab454f69e308b7f30d6945dd574c3db400225706b728760a261eeb.
 */
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AcceptAsked: {
            /** @default false */
            dry_run: boolean;
            number: number;
        };
        Accepted: {
            /** @default true */
            accepted: boolean;
        };
        ActivatedJobOut: {
            attempt: number;
            /** Format: date-time */
            created_at: string;
            definition: string;
            headers: {
                [key: string]: string;
            };
            id: string;
            key: string;
            lock_token: string;
            /** Format: date-time */
            locked_until: string;
            name: string;
            node: string;
            priority: number;
            retries: number;
            run: string;
            type: string;
            variables: {
                [key: string]: unknown;
            };
            version: number;
        };
        ActivatedOut: {
            replayed: string[];
            version: components["schemas"]["VersionOut"];
        };
        ActivityOut: {
            activity_id: string | null;
            agent: number;
            cases: number;
            count: number;
            ends: number;
            human: number;
            median_work_ms: number | null;
            name: string;
            p95_work_ms: number | null;
            starts: number;
            total_work_ms: number;
        };
        AlarmOut: {
            cleared_at: string | null;
            comparison: string;
            detail: string;
            id: string;
            metric: string;
            /** Format: date-time */
            raised_at: string;
            /** @enum {string} */
            state: "open" | "cleared";
            threshold: number;
            unit: string;
            value: number;
        };
        AlarmPage: {
            items: components["schemas"]["AlarmOut"][];
            next: string | null;
        };
        AnswerAsked: {
            comment?: string | null;
            value?: unknown;
        };
        AnswersAsked: {
            answers: components["schemas"]["ReplyAsked"][];
            number: number;
        };
        ApprovalAsked: {
            comment?: string | null;
        };
        ApprovalDecided: {
            id: string;
            instance_id: string;
            instance_status: string;
        };
        ApprovalDecision: {
            approver: string;
            /** Format: date-time */
            at: string;
            comment: string | null;
            decision: string;
        };
        ApprovalEscalateAsked: {
            comment?: string | null;
            to?: string | null;
        };
        ApprovalOut: {
            approvers: string[];
            data: unknown;
            deadline: string | null;
            decisions: components["schemas"]["ApprovalDecision"][];
            description: string;
            escalation_level: number;
            id: string;
            instance_id: string;
            node_id: string;
            priority: string;
            /** Format: date-time */
            requested_at: string;
            status: string;
            title: string;
            workflow_id: string;
        };
        ApprovalPage: {
            items: components["schemas"]["ApprovalOut"][];
            next: string | null;
        };
        ApproversOut: {
            by_author: boolean;
            mine: boolean;
            needs_two: boolean;
            permission: string;
        };
        ArtifactAsked: {
            id: string;
            /** @enum {string} */
            type: "rule_pack" | "model" | "prompt" | "config" | "workflow";
            version?: string | number | null;
        };
        AttemptOut: {
            code: string | null;
            ended_at: string | null;
            message: string | null;
            n: number;
            next_at: string | null;
            outcome: string;
            /** Format: date-time */
            started_at: string;
        };
        AutonomyAccepted: {
            activity: string;
            agent: string;
            bound: number;
            cases: components["schemas"]["AutonomyCaseOut"][];
            cases_since: string | null;
            corrected: number;
            cost: components["schemas"]["MistakeCostOut"];
            decided: number;
            direction: string;
            dismissed_why: string | null;
            ended_at: string | null;
            ended_by: string | null;
            id: string;
            made_version: number | null;
            mode: string;
            name: string;
            once: number;
            process: string;
            proposed: string;
            rejected: number;
            saved: components["schemas"]["DefinitionSaved"];
            /** Format: date-time */
            since: string;
            status: string;
            target: number;
            unchanged: number;
            undone: number;
            version: number;
            withdrawn_why: string | null;
        };
        AutonomyCaseOut: {
            /** Format: date-time */
            at: string;
            item: string;
            outcome: string;
            rework_ms: number | null;
            run: string;
        };
        AutonomyProposalOut: {
            activity: string;
            agent: string;
            bound: number;
            cases: components["schemas"]["AutonomyCaseOut"][];
            cases_since: string | null;
            corrected: number;
            cost: components["schemas"]["MistakeCostOut"];
            decided: number;
            direction: string;
            dismissed_why: string | null;
            ended_at: string | null;
            ended_by: string | null;
            id: string;
            made_version: number | null;
            mode: string;
            name: string;
            once: number;
            process: string;
            proposed: string;
            rejected: number;
            /** Format: date-time */
            since: string;
            status: string;
            target: number;
            unchanged: number;
            undone: number;
            version: number;
            withdrawn_why: string | null;
        };
        AutonomyProposalPage: {
            items: components["schemas"]["AutonomyProposalOut"][];
            next: string | null;
        };
        BackfillAsked: {
            since: string;
            until: string;
        };
        BatchAsked: {
            /** @default true */
            dry_run: boolean;
            filter?: components["schemas"]["BatchFilter"] | null;
            /** @default here */
            how: string;
            ids?: string[] | null;
            /** @default now */
            mode: string;
            /** @default  */
            name: string;
            payload?: unknown;
            reason?: string | null;
            verb: string;
            version?: number | null;
        };
        BatchBegun: {
            care?: components["schemas"]["CareAsked"] | null;
            filter?: components["schemas"]["BatchFilter"] | null;
            /** @default here */
            how: string;
            ids?: string[] | null;
            /** @default now */
            mode: string;
            /** @default  */
            name: string;
            payload?: unknown;
            reason?: string | null;
            verb: string;
            version?: number | null;
        };
        BatchFilter: {
            code?: string | null;
            ended?: string | null;
            failed_node?: string | null;
            language?: string | null;
            /** @default false */
            letter: boolean;
            name?: string | null;
            node?: string | null;
            node_failed?: string | null;
            parent?: string | null;
            /** @default  */
            q: string;
            since?: string | null;
            /** @default [] */
            state: string[];
            until?: string | null;
            var?: string | null;
            version?: number | null;
        };
        BatchOut: {
            count: number;
            dry_run: boolean;
            more: boolean;
            refused: components["schemas"]["RefusalOut"][];
            sample: string[];
            verb: string;
        };
        BatchPage: {
            items: components["schemas"]["BatchState"][];
            next: string | null;
        };
        BatchState: {
            back: number;
            by: string;
            care: components["schemas"]["CareOut"];
            code: string | null;
            done: number;
            ended_at: string | null;
            id: string;
            looked: number;
            message: string | null;
            reason: string | null;
            refusals: components["schemas"]["RefusalOut"][];
            refused: number;
            /** Format: date-time */
            started_at: string;
            /** @enum {string} */
            state: "running" | "paused" | "done" | "cancelled" | "failed";
            through: number;
            total: number | null;
            verb: string;
        };
        BlueGreenAsked: {
            success_criteria?: components["schemas"]["CriteriaAsked"] | null;
            /** @default 0 */
            warm_up_minutes: number;
        };
        BottleneckOut: {
            arrivals_per_day: number;
            median_wait_ms: number;
            p95_wait_ms: number;
            people: number;
            share: number;
            source: string;
            target: string;
        };
        BpmnAsked: {
            bpmn_xml: string;
            /** @default false */
            pending: boolean;
            /** @default false */
            unsound: boolean;
        };
        BreakerOut: {
            failures_in_a_row: number;
            name: string;
            opened_at: string | null;
            recent: number[];
            status: string;
        };
        BreakerPage: {
            items: components["schemas"]["BreakerOut"][];
        };
        BreakOut: {
            no: number;
            why: string;
        };
        BulkReplayAsked: {
            /** @default true */
            dry_run: boolean;
            runs: string[];
        };
        BulkReplayOut: {
            count: number;
            dry_run: boolean;
            refused: {
                [key: string]: string;
            };
            replayed: {
                [key: string]: string;
            };
        };
        CanaryAsked: {
            /** @default 20 */
            increment_percent: number;
            /** @default 10 */
            initial_percent: number;
            /** @default 30 */
            interval_minutes: number;
            success_criteria?: components["schemas"]["CriteriaAsked"] | null;
        };
        CancelAsked: {
            /** @default now */
            mode: string;
            reason?: string | null;
        };
        CanExecuteOut: {
            blockingTasks: string[];
            canExecute: boolean;
            reason: string;
        };
        CannotMoveOut: {
            count: number;
            reason: string;
        };
        CareAsked: {
            first?: number | null;
            most_failed?: number | null;
            per_second?: number | null;
        };
        CareOut: {
            first: number | null;
            most_failed: number | null;
            per_second: number | null;
        };
        ChangeOut: {
            after: unknown;
            before: unknown;
            change: string;
            part: string;
            pointer: string;
            what: string;
        };
        CheckAsked: {
            document: {
                [key: string]: unknown;
            } | string;
        };
        CheckOut: {
            findings: components["schemas"]["FoundOut"][];
            language: string | null;
            ok: boolean;
        };
        CheckpointOut: {
            checkpoint_number: number;
            /** Format: date-time */
            created_at: string;
            expires_at: string | null;
            id: string;
            instance_id: string;
            node_id: string;
            size_bytes: number;
            status: string;
            storage: string;
        };
        CheckpointPage: {
            items: components["schemas"]["CheckpointOut"][];
            next: string | null;
        };
        CheckpointWhole: {
            checkpoint_number: number;
            context_snapshot: unknown;
            /** Format: date-time */
            created_at: string;
            damaged: number[];
            instance_id: string;
            node_id: string;
            node_outputs: unknown;
            pending_events: unknown;
            size_bytes: number;
            status: string;
        };
        ChildOut: {
            id: string;
            name: string;
            type: string;
        };
        CollectedOut: {
            alerts: components["schemas"]["ProjectAlertOut"][];
            archived: number;
            reports: components["schemas"]["ReportOut"][];
            skipped: components["schemas"]["SkippedProjectOut"][];
        };
        CommentAsked: {
            text: string;
        };
        CommentOut: {
            /** Format: date-time */
            at: string;
            by: string;
            text: string;
        };
        CompensateAsked: {
            /** @default [] */
            only: string[];
        };
        CompensationOut: {
            results: {
                [key: string]: unknown;
            }[];
            status: string;
            steps: components["schemas"]["StepOut"][];
        };
        ConformanceOut: {
            bounded: boolean;
            cases: number;
            deviations: components["schemas"]["DeviationOut"][];
            fitness: number;
            fitting: number;
            precision: number;
            version: number;
        };
        CorrelationOut: {
            executions: components["schemas"]["TracedExecutionOut"][];
            extractions: components["schemas"]["TracedExtractionOut"][];
            files: components["schemas"]["ExecutionFileOut"][];
            traceId: string;
        };
        CriteriaAsked: {
            /** @default 0.01 */
            error_rate_max: number;
            /** @default 500 */
            latency_p99_max_ms: number;
        };
        CriterionOut: {
            how: string;
            matched: boolean | null;
            text: string;
        };
        CycleEdgeOut: {
            from: string;
            optional: boolean;
            to: string;
        };
        DashboardOut: {
            /** Format: date-time */
            at: string;
            name: string;
            panels: components["schemas"]["PanelOut"][];
        };
        DayUsageOut: {
            bytesIn: number;
            bytesOut: number;
            completed: number;
            cost: number | null;
            cpuMs: number;
            day: string;
            executions: number;
            failed: number;
            llmTokens: number;
            peakRss: number;
            tenantId: string;
            wallMs: number;
        };
        DeadCauseOut: {
            code: string;
            count: number;
            curable: boolean;
            /** Format: date-time */
            firstAt: string;
            /** Format: date-time */
            lastAt: string;
            sample: components["schemas"]["DeadMessageOut"][];
            why: string;
        };
        DeadLettersOut: {
            messages: number;
            rate: number | null;
        };
        DeadlockList: {
            items: components["schemas"]["DeadlockOut"][];
        };
        DeadlockOut: {
            cycle: string[];
            edges: components["schemas"]["CycleEdgeOut"][];
            optional: boolean;
            removed: string[];
            suggestions: string[];
        };
        DeadMessageOut: {
            body: string;
            code: string;
            /** Format: date-time */
            deadAt: string;
            id: string;
            receives: number;
            /** Format: date-time */
            sentAt: string;
            tenantId: string | null;
            why: string;
        };
        DeadPageOut: {
            causes: components["schemas"]["DeadCauseOut"][];
            items: components["schemas"]["DeadMessageOut"][];
            page: number;
            queue: string;
            size: number;
            total: number;
        };
        Decided: {
            item: string;
            run: string;
            state: string;
            status: string;
        };
        DecidedBy: {
            at: string;
            by: string | null;
            decision: string | null;
        };
        DecisionAsked: {
            comment?: string | null;
            value?: {
                [key: string]: unknown;
            } | null;
        };
        DefinitionAsked: {
            document?: string | null;
            /** @default false */
            pending: boolean;
            /** @default false */
            unsound: boolean;
        } & {
            [key: string]: unknown;
        };
        DefinitionLine: {
            approval_status: string;
            /** Format: date-time */
            created_at: string;
            id: string;
            name: string;
            newest_version: number;
            parent_id: string | null;
            source_event_log_id: string | null;
            startable: boolean;
            tenant_id: string;
            type: string;
            /** Format: date-time */
            updated_at: string;
            uuid: string;
            version: number;
        };
        DefinitionOut: {
            active: number | null;
            language: string;
            name: string;
            newest: number;
            open_runs: number;
            status: string;
            title: string;
            /** Format: date-time */
            updated_at: string;
        };
        DefinitionPage: {
            items: components["schemas"]["DefinitionOut"][];
            next: string | null;
        };
        DefinitionRef: {
            hash: string;
            language: string;
            name: string;
            version: number | null;
        };
        DefinitionSaved: {
            approval_status: string;
            confidence: number | null;
            /** @default {} */
            diff: {
                [key: string]: unknown;
            };
            id: string;
            new: boolean;
            type: string;
            uuid: string;
            version: number;
            /** @default [] */
            warnings: components["schemas"]["FoundOut"][];
        };
        DefinitionVersion: {
            approval_status: string;
            approved_at: string | null;
            approved_by: string | null;
            change_summary: string | null;
            /** Format: date-time */
            created_at: string;
            created_by: string | null;
            diff: {
                [key: string]: unknown;
            } | null;
            feedback: string | null;
            id: string;
            proc_def_id: string;
            snapshot: {
                [key: string]: unknown;
            };
            status: string;
            version: number;
        };
        DefinitionVersionPage: {
            items: components["schemas"]["DefinitionVersion"][];
            next: string | null;
        };
        DelegateAsked: {
            comment?: string | null;
            to: string;
        };
        DelegateToAsked: {
            comment?: string | null;
            to: string;
            version?: number | null;
        };
        DelegationOut: {
            by: string;
            to: string;
        };
        DeltaOut: {
            /** Format: date-time */
            at: string;
            fact: number;
            gone: string[];
            kind: string;
            node: string | null;
            not_taken: string[] | null;
            resting: {
                [key: string]: number;
            };
            states: {
                [key: string]: components["schemas"]["GraphState"];
            };
            taken: string[];
            tokens: {
                [key: string]: number;
            };
            variables: {
                [key: string]: unknown;
            };
        };
        DeltasOut: {
            from: number;
            of: number;
            snapshot: components["schemas"]["GraphOut"];
            steps: components["schemas"]["DeltaOut"][];
            to: number;
        };
        DeployAsked: {
            artifact: components["schemas"]["ArtifactAsked"];
            /** @default  */
            environment: string;
            /** @default {} */
            notification: {
                [key: string]: unknown;
            };
            /** @default  */
            reason: string;
            rollback?: components["schemas"]["TakeBackAsked"] | null;
            /** @default {} */
            scope: components["schemas"]["ScopeAsked"];
            /** @default  */
            simulation: string;
            /**
             * @default {
             *       "type": "immediate",
             *       "observe_minutes": 0
             *     }
             */
            strategy: components["schemas"]["StrategyAsked"];
        };
        DeploymentArtifact: {
            id: string;
            type: string;
        };
        DeploymentEventOut: {
            /** Format: date-time */
            at: string;
            metrics: components["schemas"]["MeasuredOut"][];
            percent: number;
            text: string;
            what: string;
            who: string | null;
        };
        DeploymentMoveOut: {
            allowed: boolean;
            move: string;
            permission: string;
        };
        DeploymentOut: {
            artifact: components["schemas"]["DeploymentArtifact"];
            automatic: boolean;
            begun_by: string | null;
            criteria: {
                [key: string]: number;
            } | null;
            deployment_id: string;
            ended_at: string | null;
            environment: string;
            events: components["schemas"]["DeploymentEventOut"][];
            moves: components["schemas"]["DeploymentMoveOut"][];
            next_at: string | null;
            notify: {
                [key: string]: unknown;
            };
            paused_at: string | null;
            percent: number;
            previous_version: string | null;
            progress: number;
            reason: components["schemas"]["DeploymentReason"] | null;
            rollout_run_id: string | null;
            run_id: string | null;
            scope: components["schemas"]["DeploymentScopeOut"];
            series: components["schemas"]["MeasuredAtOut"][];
            simulation_id: string | null;
            stage: number;
            stages: components["schemas"]["StageOut"][];
            /** Format: date-time */
            started_at: string;
            status: string;
            strategy: string;
            to_version: string | null;
            triggers: {
                [key: string]: number;
            } | null;
            version: string;
            versions: components["schemas"]["MeasuredOut"][];
            versions_since_start: components["schemas"]["MeasuredOut"][];
            warnings: string[];
        };
        DeploymentPage: {
            items: components["schemas"]["DeploymentSummaryOut"][];
            next: string | null;
            total: number | null;
        };
        DeploymentReason: {
            by: string | null;
            code: string;
            limit: number | null;
            metric: string | null;
            text: string;
            value: number | null;
        };
        DeploymentScopeOut: {
            line_ids: string[] | null;
        };
        DeploymentStatusOut: {
            current_percent: number;
            deployment_id: string;
            progress: number;
            stage: number;
            status: string;
        };
        DeploymentSummaryOut: {
            artifact: components["schemas"]["DeploymentArtifact"];
            begun_by: string | null;
            deployment_id: string;
            ended_at: string | null;
            environment: string;
            next_at: string | null;
            paused_at: string | null;
            percent: number;
            previous_version: string | null;
            progress: number;
            reason: components["schemas"]["DeploymentReason"] | null;
            rollout_run_id: string | null;
            run_id: string | null;
            scope: components["schemas"]["DeploymentScopeOut"];
            stage: number;
            /** Format: date-time */
            started_at: string;
            status: string;
            strategy: string;
            to_version: string | null;
            version: string;
        };
        DeviatingRun: {
            /** Format: date-time */
            ended_at: string;
            id: string;
        };
        DeviatingRunPage: {
            items: components["schemas"]["DeviatingRun"][];
            next: string | null;
        };
        DeviationOut: {
            activity: string;
            after: string;
            before: string;
            cases: number;
            in_discovered: boolean | null;
            kind: string;
            variants: number[];
        };
        DevSessionAsked: {
            user: string;
        };
        DiagramAsked: {
            document: {
                [key: string]: unknown;
            } | string;
        };
        DiagramChecked: {
            problems: components["schemas"]["FoundOut"][];
            valid: boolean;
        };
        DiagramEventOut: {
            /** Format: date-time */
            at: string;
            /** @default {} */
            data: {
                [key: string]: unknown;
            };
            /** @default  */
            edge: string;
            epoch: number;
            iteration: number | null;
            name: string;
            node: string;
            run_id: string;
            seq: number;
            sequence_number: number | null;
            trace_id: string;
        };
        DiagramOut: {
            hash: string;
            id: string;
            name: string;
            new: boolean;
            status: string;
            version: number;
            warnings: components["schemas"]["FoundOut"][];
        };
        DiagramRunAsked: {
            inputs?: unknown;
            key?: string | null;
            max_concurrent?: number | null;
        };
        DiagramRunOut: {
            branches: {
                [key: string]: string;
            };
            counters: {
                [key: string]: number;
            };
            /** Format: date-time */
            created_at: string;
            error: {
                [key: string]: unknown;
            } | null;
            name: string;
            nodes: {
                [key: string]: string;
            };
            output: unknown;
            outputs: {
                [key: string]: unknown;
            };
            run_id: string;
            status: string;
            /** Format: date-time */
            updated_at: string;
            waiting: components["schemas"]["DiagramWaits"][];
            warnings: {
                [key: string]: unknown;
            }[];
        };
        DiagramStarted: {
            run_id: string;
        };
        DiagramTrace: {
            next: string | null;
            run_id: string;
            status: string;
            steps: components["schemas"]["DiagramEventOut"][];
        };
        DiagramWaits: {
            due_at: string | null;
            /** @default  */
            name: string;
            node: string;
            prompt: unknown;
            waits_for: string;
        };
        DifferenceOut: {
            after: unknown;
            before: unknown;
            field: string;
        };
        DiffOut: {
            changes: components["schemas"]["ChangeOut"][];
            from: number;
            name: string;
            to: number;
        };
        DiffStatOut: {
            added: number;
            files: number;
            removed: number;
        };
        DiscoverAsked: {
            from?: string | null;
            log?: string | null;
            /** @default 0 */
            noise: number;
            to?: string | null;
        };
        DiscoveredAsked: {
            base_proc_def_id?: string | null;
            bottlenecks?: unknown[] | null;
            bpmn_xml: string;
            conformance?: {
                [key: string]: unknown;
            } | null;
            event_log_id: string;
            /**
             * @default {
             *       "algorithm": "unknown",
             *       "fitness": 0,
             *       "case_count": 0
             *     }
             */
            mining_metadata: components["schemas"]["MiningAsked"];
            tenant_id?: string | null;
        };
        DismissAsked: {
            reason: string;
        };
        DraftAsked: {
            body: unknown;
        };
        DraftBrought: {
            /** @default false */
            accept: boolean;
            /** @default  */
            name: string;
            text: string;
        };
        DraftCountsOut: {
            flows: number;
            lost: number;
            messages: number;
            pools: number;
            steps: number;
        };
        DraftDefinitionOut: {
            events: number;
            flows: number;
            id: string;
            name: string;
            steps: number;
        };
        DraftDocuments: {
            definitions: {
                [key: string]: unknown;
            }[];
        };
        DraftLineOut: {
            by_hand: number;
            by_proposal: number;
            /** Format: date-time */
            created_at: string;
            created_by: string | null;
            definitions: components["schemas"]["DraftDefinitionOut"][];
            file: string;
            id: string;
            name: string;
            number: number;
            open: number;
            released: components["schemas"]["ReleasedVersionOut"][];
            status: string;
            /** Format: date-time */
            updated_at: string;
            updated_by: string | null;
        };
        DraftOut: {
            /** Format: date-time */
            at: string;
            body: unknown;
            key: string;
            number: number;
        };
        DraftProposalOut: {
            answer: {
                [key: string]: unknown;
            };
            facts: {
                [key: string]: unknown;
            };
            kind: string;
            message: string;
        };
        DraftReleased: {
            definitions: components["schemas"]["DefinitionSaved"][];
            draft: components["schemas"]["ProcessDraftOut"];
        };
        DraftReplaced: {
            /** @default  */
            name: string;
            number: number;
            text: string;
        };
        DraftSoundnessOut: {
            findings: components["schemas"]["FoundOut"][];
            states: number;
            status: string;
            with_proposals: boolean;
        };
        DraftTodoOut: {
            answer: {
                [key: string]: unknown;
            } | null;
            answered_at: string | null;
            answered_by: string | null;
            by_proposal: boolean;
            element: string;
            element_type: string;
            facts: {
                [key: string]: unknown;
            };
            form: {
                [key: string]: unknown;
            };
            hint: string;
            key: string;
            kind: string;
            message: string;
            name: string;
            no: number;
            process: string;
            proposals: components["schemas"]["DraftProposalOut"][];
            required: boolean;
            state: string;
        };
        DroppedClaim: {
            kind: string;
            name: string;
            quote: string;
            why: string;
        };
        Effects: {
            approve: string | null;
            reject: string | null;
        };
        EntryOut: {
            action: string;
            actor: string;
            /** Format: date-time */
            at: string;
            body: unknown;
            hash: string;
            no: number;
            target: string;
        };
        EntryPage: {
            items: components["schemas"]["EntryOut"][];
            next: string | null;
        };
        EnvelopeOut: {
            body: unknown;
            content_type: string;
            created_at: string;
            id: string;
            metadata: {
                [key: string]: unknown;
            };
            produced_by: string;
            trace_id: string;
        };
        ErrorAsked: {
            code: string;
            lock_token: string;
            /** @default  */
            message: string;
            /** @default {} */
            variables: {
                [key: string]: unknown;
            };
        };
        EscalateAsked: {
            comment?: string | null;
            to?: string | null;
        };
        EventAsked: {
            id?: string | null;
            payload?: unknown;
            source: string;
        };
        EventLogOut: {
            /** Format: date-time */
            added_at: string;
            added_by: string | null;
            begin_at: string | null;
            cases: number;
            end_at: string | null;
            events: number;
            id: string;
            name: string;
            process: string | null;
            sha256: string;
            size: number;
            /** @default [] */
            warnings: components["schemas"]["FoundOut"][];
        };
        EventLogPage: {
            items: components["schemas"]["EventLogOut"][];
            next: string | null;
        };
        EventOut: {
            delivered: boolean;
            id: string;
            /** @default [] */
            imported: string[];
            new: boolean;
            number: number;
            resumed: string[];
            started: string[];
            warnings: string[];
        };
        EventPage: {
            items: components["schemas"]["KeptEvent"][];
            next: string | null;
        };
        ExecuteAsked: {
            /** @default false */
            queue: boolean;
            skill?: string | null;
        };
        Execution: {
            checkpoints: number;
            completed_at: string | null;
            duration_ms: number | null;
            errors: components["schemas"]["TraceError"][];
            input_summary: {
                [key: string]: unknown;
            };
            instance_id: string;
            nodes_executed: components["schemas"]["TraceNode"][];
            output_summary: components["schemas"]["OutputSummary"];
            started_at: string;
            status: string;
            tenant_id: string;
            trigger: components["schemas"]["TraceTrigger"];
            version: number | null;
            workflow_id: string;
        };
        ExecutionAccepted: {
            /** @default true */
            accepted: boolean;
            execution: components["schemas"]["ExecutionOut"] | null;
            executionId: string;
        };
        ExecutionAsked: {
            bucket?: string | null;
            etag?: string | null;
            fileId?: number | null;
            key?: string | null;
            mime?: string | null;
            organizationId?: number | null;
            /** @default {} */
            params: {
                [key: string]: unknown;
            };
            size?: number | null;
            traceId?: string | null;
            versionId?: string | null;
        };
        ExecutionAttemptOut: {
            attempt: number;
            completedAt: string | null;
            error: components["schemas"]["StageErrorOut"] | null;
            errorStage: string | null;
            retryCount: number;
            /** Format: date-time */
            startedAt: string;
            status: string;
            trigger: string;
        };
        ExecutionBrief: {
            cancelRequested: boolean;
            completedAt: string | null;
            completedStages: number;
            /** Format: date-time */
            createdAt: string;
            currentStage: string | null;
            durationMs: number | null;
            error: components["schemas"]["StageErrorOut"] | null;
            errorStage: string | null;
            executionId: string;
            file: components["schemas"]["ExecutionFileOut"] | null;
            idempotencyKey: string | null;
            maxRetries: number;
            nextAttemptAt: string | null;
            organizationId: number | null;
            parentExecutionId: string | null;
            pipelineCode: string;
            pipelineName: string;
            priority: number;
            retryCount: number;
            stages: components["schemas"]["StageBrief"][];
            startedAt: string | null;
            status: string;
            tenantId: string;
            totalStages: number;
            traceId: string;
            triggerType: string;
            version: number;
            why: components["schemas"]["WhyOut"][];
        };
        ExecutionFileOut: {
            bucket: string;
            id: number;
            key: string;
            mime: string;
            size: number;
        };
        ExecutionOut: {
            attempts: components["schemas"]["ExecutionAttemptOut"][];
            cancelRequested: boolean;
            completedAt: string | null;
            completedStages: number;
            /** Format: date-time */
            createdAt: string;
            currentStage: string | null;
            durationMs: number | null;
            error: components["schemas"]["StageErrorOut"] | null;
            errorStage: string | null;
            executionId: string;
            file: components["schemas"]["ExecutionFileOut"] | null;
            idempotencyKey: string | null;
            maxRetries: number;
            nextAttemptAt: string | null;
            organizationId: number | null;
            parentExecutionId: string | null;
            pipelineCode: string;
            pipelineName: string;
            priority: number;
            retryCount: number;
            stages: components["schemas"]["StageLogOut"][];
            startedAt: string | null;
            status: string;
            tenantId: string;
            totalStages: number;
            traceId: string;
            triggerType: string;
            version: number;
            warnings: {
                [key: string]: unknown;
            }[];
            why: components["schemas"]["WhyOut"][];
        };
        ExecutionPageOut: {
            items: components["schemas"]["ExecutionBrief"][];
            page: number;
            size: number;
            total: number;
        };
        ExtendAsked: {
            lock_ms: number;
            lock_token: string;
        };
        Extended: {
            id: string;
            /** Format: date-time */
            locked_until: string;
        };
        ExtractAsked: {
            document?: components["schemas"]["ManualDocument"] | null;
            /** @default false */
            dry_run: boolean;
            /** @default  */
            id: string;
            pdf?: string | null;
            text?: string | null;
        } & (unknown | unknown | unknown);
        ExtractedElement: {
            collection: string;
            confidence: number;
            id: string;
            name: string;
            sentences: string[];
        };
        ExtractedOut: {
            approval_status: string;
            /** @default  */
            bpmn: string;
            /** @default [] */
            chunks: components["schemas"]["ManualChunk"][];
            confidence: number;
            definition: {
                [key: string]: unknown;
            };
            diff: {
                [key: string]: unknown;
            };
            dmn: string | null;
            /** @default [] */
            dropped: components["schemas"]["DroppedClaim"][];
            /** @default [] */
            elements: components["schemas"]["ExtractedElement"][];
            evidence: {
                [key: string]: string;
            };
            /** @default [] */
            findings: components["schemas"]["FoundOut"][];
            id: string;
            note: string;
            parts: {
                [key: string]: number;
            };
            /** @default [] */
            sentences: components["schemas"]["ManualSentence"][];
            source: string;
            /** @default  */
            text: string;
            version: number | null;
        };
        ExtractionOut: {
            approval_status: string;
            bpmn: string;
            chunks: components["schemas"]["ManualChunk"][];
            confidence: number;
            definition: {
                [key: string]: unknown;
            };
            dmn: string | null;
            dropped: components["schemas"]["DroppedClaim"][];
            /** @default false */
            edited: boolean;
            elements: components["schemas"]["ExtractedElement"][];
            id: string;
            note: string;
            parts: {
                [key: string]: number;
            };
            sentences: components["schemas"]["ManualSentence"][];
            source: string;
            text: string;
            version: number | null;
        };
        FactOut: {
            /** Format: date-time */
            at: string;
            /** @default {} */
            data: {
                [key: string]: unknown;
            };
            /** @default  */
            edge: string;
            /** @default -1 */
            epoch: number;
            fact: string;
            /** @default  */
            node: string;
            /** @default  */
            scope: string;
            seq: number;
        };
        FactPage: {
            items: components["schemas"]["FactOut"][];
            next: number | null;
            of: number;
        };
        FailAsked: {
            /** @default 0 */
            backoff_ms: number;
            details?: unknown;
            lock_token: string;
            /** @default  */
            message: string;
            retries?: number | null;
        };
        FailedCauseOut: {
            code: string;
            count: number;
            curable: boolean;
            /** Format: date-time */
            first_at: string;
            label: string;
            language: string;
            /** Format: date-time */
            last_at: string;
            message: string;
            name: string;
            node: string;
            pieces: number[];
            run: string;
            title: string;
        };
        FailedCausesOut: {
            axis_from: number;
            causes: number;
            items: components["schemas"]["FailedCauseOut"][];
            kept_days: number;
            piece_ms: number;
            total: number;
        };
        FailedWithOut: {
            code: string;
            count: number;
        };
        FailingStageOut: {
            failures: number;
            pipelineCode: string | null;
            stageCode: string;
        };
        FailureOut: {
            category: string;
            code: string;
            detail: unknown;
            hint: string | null;
            message: string;
            node: string | null;
        };
        FeedbackAsked: {
            feedback: string;
        };
        FeelAsked: {
            /** @default {} */
            context: {
                [key: string]: unknown;
            };
            /**
             * @default expression
             * @enum {string}
             */
            kind: "expression" | "unary_tests";
            /** @default false */
            strict: boolean;
            text: string;
            value?: unknown;
        };
        FeelOut: {
            names: string[];
            text: string;
            type: string;
            value: unknown;
            warnings: components["schemas"]["FeelWarningOut"][];
        };
        FeelWarningOut: {
            message: string;
            position: number;
        };
        FieldOut: {
            key: string;
            label: string;
            tone: string | null;
            unit: string | null;
            value: unknown;
        };
        FileScheduleOut: {
            created_at: string;
            cron_expression: string | null;
            execution_params: unknown;
            id: number;
            interval_seconds: number | null;
            is_active: boolean;
            last_execution_at: string | null;
            next_execution_at: string | null;
            organization_id: number | null;
            pipeline_code: string;
            schedule_name: string;
            schedule_type: string;
            target_filter: unknown;
            tenant_id: string;
            timezone: string;
            updated_at: string;
        };
        FileSchedulePage: {
            items: components["schemas"]["FileScheduleOut"][];
            page: number;
            size: number;
            total: number;
        };
        FiredOut: {
            /** Format: date-time */
            at: string;
            runs: string[];
        };
        FiredPage: {
            items: components["schemas"]["FiredOut"][];
        };
        FiringOut: {
            attempt: number;
            attempts: components["schemas"]["AttemptOut"][];
            ended_at: string | null;
            epoch: number;
            id: string;
            iteration: number;
            kind: string;
            label: string;
            node: string;
            number: number;
            scope: string;
            /** Format: date-time */
            started_at: string;
            state: string;
            status: string;
            tone: string;
            type: string;
            waits: components["schemas"]["WaitOut"][];
        };
        FiringPage: {
            items: components["schemas"]["FiringOut"][];
            next: string | null;
        };
        FirstInputOut: {
            context: unknown;
            data: unknown;
            name: string;
            origin: string;
        };
        FitsOut: {
            id: string;
            read_to: string | null;
            versions: components["schemas"]["VersionFitOut"][];
        };
        FlowOut: {
            cases: number;
            count: number;
            median_wait_ms: number | null;
            p95_wait_ms: number | null;
            source: string;
            target: string;
            total_wait_ms: number;
        };
        FolderStateOut: {
            bucket: string;
            lastAt: string | null;
            taken: number;
            unfinished: number;
            writing: string[];
        };
        ForceAsked: {
            reason: string;
        };
        ForecastOut: {
            elapsed_ms: number;
            forecast: {
                [key: string]: unknown;
            };
            language: string;
            name: string;
            run: string;
            /** Format: date-time */
            simulated_at: string;
            status: string | null;
            version: number | null;
            warnings: string[];
        };
        ForeseenOut: {
            /** Format: date-time */
            at: string;
            count: number;
            fate: string;
            label: string;
            node: string;
            type: string;
        };
        ForkAsked: {
            fact: number;
        };
        FoundOut: {
            /** @default  */
            category: string;
            /** @default  */
            hint: string;
            message: string;
            /** @default  */
            node: string;
            rule: string;
            severity: string;
            where: components["schemas"]["Where"];
        };
        GraphEdge: {
            back: boolean;
            from: string;
            id: string;
            label: string | null;
            port: string;
            skip: boolean;
            to: string;
        };
        GraphNode: {
            icon: string;
            id: string;
            kind: string;
            label: string;
            parent: string | null;
            shape: string;
            type: string;
        };
        GraphOut: {
            at: number;
            direction: string;
            edges: components["schemas"]["GraphEdge"][];
            hash: string;
            language: string;
            name: string;
            nodes: components["schemas"]["GraphNode"][];
            not_taken: string[];
            of: number;
            states: {
                [key: string]: components["schemas"]["GraphState"];
            };
            taken: string[];
            time: string | null;
            tokens: components["schemas"]["GraphToken"][];
            variables: {
                [key: string]: unknown;
            };
        };
        GraphState: {
            attempt: number;
            count: number;
            ms: number | null;
            note: string | null;
            state: string;
            status: string;
            tone: string;
        };
        GraphToken: {
            count: number;
            edge: string | null;
            epochs: number[];
            node: string | null;
        };
        HandoverOut: {
            count: number;
            median_wait_ms: number;
            source: string;
            target: string;
        };
        HeadlineOut: {
            causes: number;
            completed_24h: number;
            ended_24h: number;
            flowing: number;
            more: boolean;
            stuck: number;
            waiting: number;
        };
        HeadOut: {
            at: string | null;
            hash: string;
            no: number;
            tenant: string;
        };
        Health: {
            drives: boolean;
            status: string;
            store: string;
            version: string;
        };
        HealthIssueOut: {
            kind: string;
            level: string;
            subject: string;
            text: string;
        };
        HealthOut: {
            checkedAt: string | null;
            failures: string[];
            issues: components["schemas"]["HealthIssueOut"][];
            missing: string[];
            project: string;
            score: number | null;
            status: string;
            stuck: string[];
            zombies: string[];
        };
        HistoryOut: {
            items: components["schemas"]["TransitionOut"][];
            next: string | null;
        };
        HomeOut: {
            /** Format: date-time */
            at: string;
            by_language: components["schemas"]["LanguageOut"][];
            headline: components["schemas"]["HeadlineOut"];
            hours: components["schemas"]["HourOut"][];
            schedules: components["schemas"]["NextOut"][];
            /** Format: date-time */
            since: string;
            slowest: components["schemas"]["SlowOut"][];
            stuck: components["schemas"]["StuckOut"][];
            tiles: components["schemas"]["TileOut"][];
            waiting: components["schemas"]["ShortItemOut"][];
            workers: components["schemas"]["WorkerOut"][];
        };
        HourOut: {
            /** Format: date-time */
            at: string;
            done: number;
            failed: number;
            held: number;
        };
        ImportedOut: {
            count: number;
            labelled: number;
        };
        InForceOut: {
            differences: components["schemas"]["DifferenceOut"][];
            problem: components["schemas"]["RuleProblemOut"] | null;
            same: boolean;
            verdict: components["schemas"]["TrialVerdictOut"] | null;
            version: string;
        };
        IngestAccepted: {
            /** @default true */
            accepted: boolean;
            /** @default [] */
            files: components["schemas"]["TakenFile"][];
            messageId: string | null;
        };
        IngestTotalsOut: {
            duplicate: number;
            messages: number;
            tooLarge: number;
            unmatched: number;
        };
        InitiateAsked: {
            initiator_id?: string | null;
            /** @default {} */
            input_data: {
                [key: string]: unknown;
            };
            /** @default {} */
            mode_overrides: {
                [key: string]: "AUTONOMOUS" | "SUPERVISED" | "MANUAL";
            };
            start_event?: string | null;
            version?: number | null;
        };
        InspectedOut: {
            bpmn: string | null;
            document: unknown;
            findings: components["schemas"]["FoundOut"][];
            graph: components["schemas"]["GraphOut"] | null;
            input_schema: unknown;
            language: string | null;
            ok: boolean;
            soundness: components["schemas"]["JudgedOut"][];
        };
        InstanceAsked: {
            /** @default  */
            environment: string;
            input?: unknown;
            parent_instance_id?: string | null;
            version?: number | null;
            workflow_id: string;
        };
        InstanceCancelAsked: {
            reason?: string | null;
        };
        InstanceCompensateAsked: {
            /** @default [] */
            node_ids: string[];
        };
        InstanceError: {
            category: string;
            code: string;
            message: string;
            node_id: string | null;
        };
        InstancePage: {
            items: components["schemas"]["InstanceSummary"][];
            next: string | null;
        };
        InstanceSummary: {
            active_ms: number;
            completed_at: string | null;
            instance_id: string;
            parent_instance_id: string | null;
            /** Format: date-time */
            started_at: string;
            status: string;
            tenant_id: string;
            /** Format: date-time */
            updated_at: string;
            version: number | null;
            workflow_id: string;
        };
        InstanceTold: {
            compensation_status: string;
            compensation_steps: {
                [key: string]: unknown;
            }[];
            proc_inst_id: string;
            status: string;
        };
        InstanceTrigger: {
            source: string | null;
            type: string;
        };
        ItemOut: {
            approvals: components["schemas"]["VoteOut"][];
            candidates: string[];
            claimed_by: string | null;
            comments: components["schemas"]["CommentOut"][];
            data: unknown;
            delegations: components["schemas"]["DelegationOut"][];
            description: string;
            document: string;
            due_at: string | null;
            due_then: components["schemas"]["Then"] | null;
            effects: components["schemas"]["Effects"];
            eligible: boolean;
            escalation_level: number;
            etag: string;
            fields: components["schemas"]["FieldOut"][];
            form: {
                [key: string]: unknown;
            } | null;
            id: string;
            kind: string;
            language: string;
            moves: components["schemas"]["MoveOut"][];
            needed: number;
            node: string;
            not_eligible_because: string | null;
            /** Format: date-time */
            opened_at: string;
            priority: string;
            run: string;
            run_title: string;
            status: string;
            title: string;
            why_me: string[];
            work: components["schemas"]["ItemWorkOut"] | null;
        };
        ItemPage: {
            items: components["schemas"]["ItemOut"][];
            next: string | null;
            total: number;
        };
        ItemWorkOut: {
            activity_type: string;
            agent: boolean;
            assignee: string | null;
            error: string | null;
            id: string;
            mode: string;
        };
        JobOut: {
            attempt: number;
            /** Format: date-time */
            created_at: string;
            definition: string;
            due_at: string | null;
            ended_at: string | null;
            id: string;
            message: string | null;
            name: string;
            node: string;
            priority: number;
            retries: number;
            run: string;
            state: string;
            type: string;
            version: number;
            why: string;
            worker: string | null;
        };
        JobPage: {
            items: components["schemas"]["JobOut"][];
            next: string | null;
        };
        JobsAsked: {
            /** @default 60000 */
            lock_ms: number;
            /** @default 1 */
            max_jobs: number;
            type?: string | null;
            /** @default [] */
            types: string[];
            variables?: string[] | null;
            /** @default 0 */
            wait_ms: number;
            worker: string;
        };
        JobsOut: {
            jobs: components["schemas"]["ActivatedJobOut"][];
        };
        JobTypeOut: {
            delayed: number;
            held: number;
            last_asked_at: string | null;
            locked: number;
            oldest_at: string | null;
            type: string;
            waiting: number;
            waits: boolean;
            workers: components["schemas"]["SeenWorkerOut"][];
        };
        JobTypesOut: {
            items: components["schemas"]["JobTypeOut"][];
        };
        JudgeAsked: {
            comment?: string | null;
            decision: string;
        };
        JudgedOut: {
            dead: string[];
            rehearsed: string | null;
            scope: string;
            steps: components["schemas"]["WayStep"][];
            verdict: string;
            way: string[];
            why: string;
        };
        JudgmentImport: {
            judgments: components["schemas"]["PastJudgmentAsked"][];
        };
        JudgmentOut: {
            /** Format: date-time */
            at: string;
            decision: string;
            document: string;
            input: unknown;
            needs_review: boolean;
            node: string;
            output: unknown;
            proposed: unknown;
            run: string;
        };
        JudgmentPage: {
            items: components["schemas"]["JudgmentOut"][];
            next: string | null;
        };
        KeptEvent: {
            /** Format: date-time */
            at: string;
            delivered: boolean;
            id: string;
            number: number;
            payload: unknown;
            source: string;
        };
        KeyAsked: {
            expires_at?: string | null;
            name: string;
            rate?: number | null;
            /** @default [] */
            roles: string[];
            scopes?: string[] | null;
            user?: string | null;
        };
        KeyMade: {
            approves: boolean;
            /** Format: date-time */
            created_at: string;
            created_by: string;
            expires_at: string | null;
            id: string;
            last_used_at: string | null;
            name: string;
            rate: number | null;
            revoked_at: string | null;
            roles: string[];
            scopes: string[] | null;
            token: string | null;
            user: string;
        };
        KeyOut: {
            approves: boolean;
            /** Format: date-time */
            created_at: string;
            created_by: string;
            expires_at: string | null;
            id: string;
            last_used_at: string | null;
            name: string;
            rate: number | null;
            revoked_at: string | null;
            roles: string[];
            scopes: string[] | null;
            user: string;
        };
        KeyPage: {
            items: components["schemas"]["KeyOut"][];
            next: string | null;
        };
        LabelAsked: {
            /** @enum {string} */
            decision: "normal" | "warning" | "critical" | "unknown";
            judgment: string;
            /** @default  */
            note: string;
        };
        LabelOut: {
            /** Format: date-time */
            at: string;
            by: string;
            decision: string;
            judgment: string;
            note: string;
        };
        LanguageOut: {
            language: string;
            running: number;
            stuck: number;
            undoing: number;
            waiting: number;
        };
        LanguageWords: {
            node: {
                [key: string]: string;
            };
            run: {
                [key: string]: string;
            };
            types: {
                [key: string]: components["schemas"]["TypeWords"];
            };
        };
        LetterOut: {
            /** Format: date-time */
            at: string;
            category: string;
            code: string;
            context_snapshot: unknown;
            document: string;
            error: unknown;
            execution_history: unknown[] | null;
            input: unknown;
            max_replays: number;
            queue: string;
            replays: number;
            run: string;
            status: string;
            /** Format: date-time */
            until: string;
            version: number;
        };
        LetterPage: {
            items: components["schemas"]["LetterOut"][];
            next: string | null;
        };
        LimitOut: {
            beyond: string;
            code: string;
            default: number;
            limit: number;
            name: string;
            used: number | null;
            what: string;
        };
        LimitsOut: {
            house: components["schemas"]["LimitOut"][];
            items: components["schemas"]["LimitOut"][];
        };
        LogAsked: {
            /** @default {} */
            columns: {
                [key: string]: string;
            };
            content_base64: string;
            name: string;
            process?: string | null;
            zone?: string | null;
        };
        LogLineOut: {
            /** Format: date-time */
            at: string;
            attempt: number | null;
            code: string | null;
            event: string;
            level: string;
            message: string | null;
            ms: number | null;
            node: string | null;
            seq: number;
        };
        LogPage: {
            items: components["schemas"]["LogLineOut"][];
            next: number | null;
        };
        LookingAsked: {
            /** @default true */
            here: boolean;
        };
        LookingOut: {
            others: string[];
        };
        ManualChunk: {
            first: string;
            last: string;
            number: number;
            tokens: number;
        };
        ManualDocument: {
            content_base64: string;
            /** @default  */
            media_type: string;
            /** @default  */
            name: string;
        };
        ManualSentence: {
            end: number;
            id: string;
            page: number;
            paragraph: number;
            start: number;
            text: string;
        };
        MatchedRuleOut: {
            confidence: number | null;
            decision: string | null;
            id: string;
            name: string;
            reasoning: string;
        };
        Me: {
            groups: string[];
            locale: string;
            name: string;
            organization_id: number | null;
            permissions: string[];
            profile: string;
            roles: string[];
            tenant: string;
            user: string;
            version: string;
            zone: string;
        };
        MeasuredAtOut: {
            anomaly_score: number | null;
            /** Format: date-time */
            at: string;
            error_rate: number | null;
            latency_p99_ms: number | null;
            samples: number;
            version: string;
        };
        MeasuredOut: {
            anomaly_score: number | null;
            error_rate: number | null;
            errors: number;
            latency_p50_ms: number | null;
            latency_p99_ms: number | null;
            role: string;
            samples: number;
            version: string;
        };
        MessageAsked: Record<string, never>;
        MessageOut: {
            /** Format: date-time */
            at: string;
            channel: string;
            message: unknown;
            run: string;
            target: string;
        };
        MessagePage: {
            items: components["schemas"]["MessageOut"][];
        };
        MigrateAsked: {
            /** @default false */
            dry_run: boolean;
            name: string;
            /** @default {} */
            nodes: {
                [key: string]: string;
            };
            version?: number | null;
        };
        MigrationOut: {
            added: string[];
            after: string;
            at_work: string[];
            before: string;
            done: boolean;
            obstacles: string[];
            removed: string[];
            renamed: {
                [key: string]: string;
            };
            run: string;
            tokens_dropped: string[];
            tokens_put: string[];
        };
        MinedLineOut: {
            bottleneck: components["schemas"]["BottleneckOut"] | null;
            cases: number;
            events: number;
            fitness: number | null;
            id: string;
            median_case_ms: number;
            name: string;
            pending_model: string | null;
            source: string;
            version: number | null;
        };
        MinedMapOut: {
            activities: components["schemas"]["ActivityOut"][];
            bottleneck: components["schemas"]["BottleneckOut"] | null;
            cases: number;
            conformance: components["schemas"]["ConformanceOut"] | null;
            discovered: components["schemas"]["PendingModelOut"] | null;
            events: number;
            flows: components["schemas"]["FlowOut"][];
            handovers: components["schemas"]["HandoverOut"][];
            id: string;
            log_id: string | null;
            median_case_ms: number;
            name: string;
            period: components["schemas"]["PeriodOut"];
            rework: components["schemas"]["ReworkOut"][];
            source: string;
            variants: components["schemas"]["VariantOut"][];
            variants_total: number;
            version: number | null;
        };
        MinedPage: {
            items: components["schemas"]["MinedLineOut"][];
            next: string | null;
        };
        MiningAsked: {
            /** @default unknown */
            algorithm: string;
            /** @default 0 */
            case_count: number;
            /** @default 0 */
            fitness: number;
            precision?: number | null;
        };
        MistakeCostOut: {
            amount: number | null;
            compensations: number;
            mistakes: number;
            rework_ms: number | null;
            reworked: number;
        };
        ModelApproveAsked: {
            comment?: string | null;
            into?: string | null;
            version?: number | null;
        };
        ModelChangeOut: {
            activities: string[];
            cases: number;
            detail: string;
            elements: string[];
            kind: string;
            saved_ms_per_week: number | null;
            shape: string;
            title: string;
        };
        ModelDiffOut: {
            algorithm: string;
            approval_status: string;
            approvers: components["schemas"]["ApproversOut"];
            base_bpmn: string;
            base_version: number;
            cases: number;
            changes: components["schemas"]["ModelChangeOut"][];
            events: number;
            id: string;
            merged_bpmn: string;
            model_bpmn: string;
            model_id: string;
            model_version: number;
            name: string;
            period: components["schemas"]["PeriodOut"];
            precision: number | null;
            replay: components["schemas"]["ReplayOut"];
            running: components["schemas"]["RunningOut"];
            saved_ms_per_week: number;
            sound: boolean;
        };
        ModelProposed: {
            approval_status: string;
            changes: number;
            fitness: number;
            model_id: string;
            new: boolean;
            precision: number;
            version: number;
        };
        ModelRejectAsked: {
            comment: string;
        };
        MomentOut: {
            /** Format: date-time */
            at: string;
            fact: number;
        };
        MomentPage: {
            items: components["schemas"]["MomentOut"][];
            of: number;
        };
        MoveAsked: {
            /** @default  */
            reason: string;
        };
        MoveOut: {
            /** @default true */
            allowed: boolean;
            confirm: string;
            effect_key: string;
            label_key: string;
            /** @default [] */
            needs: string[];
            target: string | null;
            verb: string;
        };
        NextOut: {
            name: string;
            /** Format: date-time */
            next_at: string;
            title: string;
        };
        NextScheduleOut: {
            name: string;
            /** Format: date-time */
            nextAt: string;
            pipelineCode: string;
            zone: string;
        };
        NextTask: {
            task: components["schemas"]["TaskOut"] | null;
        };
        NodeExecution: {
            attempt: number;
            completed_at: string | null;
            node_id: string;
            /** Format: date-time */
            started_at: string;
            status: string;
            type: string;
        };
        NodeSignalAsked: {
            /** @default  */
            id: string;
            payload?: unknown;
        };
        OutputSummary: {
            actions_taken: string[];
            decision: string | null;
        };
        OverviewOut: {
            completed: number;
            counts: {
                [key: string]: number;
            };
            dead: components["schemas"]["QueueStateOut"];
            duplicates: number;
            dwellP95Ms: number | null;
            ended: number;
            failures: components["schemas"]["FailedWithOut"][];
            lately: components["schemas"]["SeriesOfHoursOut"];
            nextSchedule: components["schemas"]["NextScheduleOut"] | null;
            now: components["schemas"]["WaysInNowOut"];
            oldestLimitS: number;
            oldestPendingAt: string | null;
            pending: number;
            pipelines: components["schemas"]["PipelineNameOut"][];
            queue: components["schemas"]["QueueStateOut"];
            running: number;
            slots: number;
            successLimit: number;
            waysIn: components["schemas"]["WayInOut"][];
        };
        OwnTestOut: {
            decision: string | null;
            name: string;
            ok: boolean;
            wrong: string;
        };
        PackDetailOut: {
            body: {
                [key: string]: unknown;
            };
            first_input: components["schemas"]["FirstInputOut"] | null;
            id: string;
            in_force: string | null;
            name: string;
            summary: string;
            version: string;
            versions: components["schemas"]["PackVersionOut"][];
        };
        PackSummaryOut: {
            id: string;
            in_force: string | null;
            name: string;
            summary: string;
            versions: components["schemas"]["PackVersionOut"][];
        };
        PackSummaryPage: {
            items: components["schemas"]["PackSummaryOut"][];
            next: string | null;
        };
        PackVersionOut: {
            /** Format: date-time */
            at: string;
            in_force: boolean;
            rules: number;
            status: string;
            tests: number;
            version: string;
        };
        PanelOut: {
            id: string;
            query: string;
            row: string;
            title: string;
            type: string;
            unit: string;
            value: number | null;
            values: {
                [key: string]: number;
            } | null;
        };
        Passage: {
            activity_id: string | null;
            agent_mode: string | null;
            /** Format: date-time */
            at: string;
            by: string | null;
            comment: string | null;
            event: string;
            from: string | null;
            seq: number;
            to: string;
            workitem_id: string | null;
        };
        PastJudgmentAsked: {
            at: string;
            /** @default 1 */
            confidence: number;
            /** @default {} */
            context: {
                [key: string]: unknown;
            };
            data: unknown;
            /** @enum {string} */
            decision: "normal" | "warning" | "critical" | "unknown";
            /** @default  */
            id: string;
            label?: ("normal" | "warning" | "critical" | "unknown") | null;
            llm?: {
                [key: string]: unknown;
            } | null;
            policy?: {
                [key: string]: unknown;
            } | null;
            rule_pack_id: string;
        };
        PendingModelOut: {
            changes: number;
            model_id: string;
            version: number;
            would_fit: number;
        };
        PendingOut: {
            count: number;
            meanMs: number | null;
            oldestMs: number | null;
        };
        penstock__api__pipeline__shapes__RetryAsked: {
            mode?: ("resume" | "rerun") | null;
        };
        penstock__api__plan__asked__ApproveAsked: {
            comment?: string | null;
        };
        penstock__api__plan__asked__CompleteAsked: {
            /** @default  */
            notes: string;
        };
        penstock__api__plan__asked__RejectAsked: {
            comment: string;
        };
        penstock__api__plan__asked__StartAsked: {
            /** @default false */
            force: boolean;
            maxConcurrent?: number | null;
        };
        penstock__api__process__draft_shapes__DraftPage: {
            items: components["schemas"]["DraftLineOut"][];
            next: string | null;
        };
        penstock__api__process__draft_shapes__ReleaseAsked: {
            number: number;
            /** @default false */
            pending: boolean;
            /** @default false */
            unsound: boolean;
        };
        penstock__api__process__work_item_shapes__ApproveAsked: {
            approver_id?: string | null;
            comment?: string | null;
            result_overrides?: {
                [key: string]: unknown;
            } | null;
            version?: number | null;
        };
        penstock__api__shapes__admin__DraftPage: {
            items: components["schemas"]["DraftOut"][];
            next: string | null;
        };
        penstock__api__shapes__definitions__RejectAsked: {
            feedback: string;
        };
        penstock__api__shapes__jobs__CompleteAsked: {
            lock_token: string;
            /** @default {} */
            variables: {
                [key: string]: unknown;
            };
        };
        penstock__api__shapes__runs__RetryAsked: {
            /** @default here */
            how: string;
        };
        penstock__api__shapes__runs__StartAsked: {
            definition: string;
            /** @default  */
            environment: string;
            input?: unknown;
            key?: string | null;
            /** @default 1000 */
            priority: number;
            version?: number | null;
        };
        penstock__api__shapes__stand_ins__ReleaseAsked: {
            /** @default  */
            reason: string;
            reservation_id: string;
        };
        PeriodOut: {
            from: string | null;
            to: string | null;
        };
        PipelineAlarmOut: {
            comparison: string;
            metric: string;
            raised: boolean;
            threshold: number;
            unit: string;
            value: number | null;
        };
        PipelineAsked: {
            [key: string]: unknown;
        };
        PipelineLine: {
            /** Format: date-time */
            created_at: string;
            created_by: string | null;
            description: string;
            file_type: string;
            is_active: boolean;
            pipeline_code: string;
            pipeline_name: string;
            pipeline_type: string;
            priority: number;
            stages: number;
            status: string;
            version: number;
        };
        PipelineMetricsOut: {
            alarms: components["schemas"]["PipelineAlarmOut"][];
            completed: number;
            dlq: components["schemas"]["DeadLettersOut"];
            ended: number;
            failed: number;
            failingStages: components["schemas"]["FailingStageOut"][];
            ingest: components["schemas"]["IngestTotalsOut"];
            pending: components["schemas"]["PendingOut"];
            retryRate: number | null;
            successRate: number | null;
            tenantId: string;
            throughputPerMinute: number;
            usage: components["schemas"]["DayUsageOut"][];
            windowMs: number;
        };
        PipelineNameOut: {
            code: string;
            name: string;
        };
        PipelineOut: {
            /** Format: date-time */
            created_at: string;
            created_by: string | null;
            definition: {
                [key: string]: unknown;
            };
            description: string;
            file_type: string;
            is_active: boolean;
            pipeline_code: string;
            pipeline_name: string;
            pipeline_type: string;
            priority: number;
            stages: number;
            status: string;
            version: number;
        };
        PipelinePage: {
            items: components["schemas"]["PipelineLine"][];
            page: number;
            size: number;
            total: number;
        };
        PipelineSaved: {
            new: boolean;
            pipeline_code: string;
            status: string;
            version: number;
            /** @default [] */
            warnings: components["schemas"]["FoundOut"][];
        };
        PreviewOut: {
            effects: components["schemas"]["ForeseenOut"][];
            fact: number;
            of: number;
            verb: string;
        };
        Problem: {
            blockingTasks?: string[] | null;
            code: string;
            decided?: components["schemas"]["DecidedBy"] | null;
            detail: string;
            findings?: components["schemas"]["FoundOut"][] | null;
            from?: string | null;
            hint?: string | null;
            position?: number | null;
            reason?: string | null;
            state?: string | null;
            status: number;
            title: string;
            to?: string | null;
            trace_id?: string | null;
            type: string;
            where?: string | null;
        };
        ProcessDefinitionOut: {
            approval_status: string;
            approved_by: string | null;
            children: components["schemas"]["ChildOut"][];
            /** Format: date-time */
            created_at: string;
            created_by: string | null;
            definition: {
                [key: string]: unknown;
            };
            description: string;
            feedback: string | null;
            id: string;
            name: string;
            newest_version: number;
            origin: {
                [key: string]: unknown;
            };
            parent_id: string | null;
            source_event_log_id: string | null;
            startable: boolean;
            tenant_id: string;
            type: string;
            /** Format: date-time */
            updated_at: string;
            uuid: string;
            version: number;
        };
        ProcessDefinitionPage: {
            items: components["schemas"]["DefinitionLine"][];
            next: string | null;
        };
        ProcessDraftOut: {
            by_hand: number;
            by_proposal: number;
            counts: components["schemas"]["DraftCountsOut"];
            /** Format: date-time */
            created_at: string;
            created_by: string | null;
            definitions: components["schemas"]["DraftDefinitionOut"][];
            file: string;
            findings: components["schemas"]["FoundOut"][];
            id: string;
            moves: string[];
            name: string;
            number: number;
            open: number;
            released: components["schemas"]["ReleasedVersionOut"][];
            soundness: components["schemas"]["DraftSoundnessOut"];
            status: string;
            todos: components["schemas"]["DraftTodoOut"][];
            /** Format: date-time */
            updated_at: string;
            updated_by: string | null;
            version: number;
        };
        ProcessEventOut: {
            /** Format: date-time */
            at: string;
            event: string;
            payload: {
                [key: string]: unknown;
            };
            proc_inst_id: string | null;
            seq: number;
        };
        ProcessEventPage: {
            items: components["schemas"]["ProcessEventOut"][];
            next: string | null;
        };
        ProcessInstanceOut: {
            compensation: components["schemas"]["CompensationOut"];
            compensation_status: string;
            compensation_steps: {
                [key: string]: unknown;
            }[];
            completed_at: string | null;
            failed_activity_id: string | null;
            failure_reason: string | null;
            history: components["schemas"]["Passage"][];
            id: string;
            initiator_id: string | null;
            parent_inst_id: string | null;
            proc_def_id: string;
            proc_def_version: number;
            /** Format: date-time */
            started_at: string;
            status: string;
            tenant_id: string;
            variables: {
                [key: string]: unknown;
            };
            version: number;
            workitems: components["schemas"]["WorkitemOut"][];
        };
        ProcessInstanceStarted: {
            proc_def_id: string;
            proc_def_version: number;
            proc_inst_id: string;
            status: string;
        };
        ProjectAlertOut: {
            kind: string;
            project: string;
            text: string;
        };
        ProjectAsked: {
            /** @default true */
            enabled: boolean;
            name?: string | null;
            path: string;
            /** @default false */
            trusted: boolean;
        };
        ProjectChange: {
            enabled?: boolean | null;
            trusted?: boolean | null;
        };
        ProjectList: {
            items: components["schemas"]["ProjectOut"][];
        };
        ProjectOut: {
            checkedAt: string | null;
            counts: {
                [key: string]: number;
            };
            /** Format: date-time */
            createdAt: string;
            enabled: boolean;
            git: boolean;
            health: string;
            id: string;
            lastSeenAt: string | null;
            maxConcurrent: number;
            missing: boolean;
            name: string;
            path: string;
            review: number;
            run: string | null;
            score: number | null;
            status: string;
            title: string;
            trusted: boolean;
            why: string;
        };
        ProposalOut: {
            /** Format: date-time */
            at: string;
            body: {
                [key: string]: unknown;
            } | null;
            by: string;
            id: string;
            /** @default pending_approval */
            status: string;
            type: string;
        };
        ProposalPage: {
            items: components["schemas"]["ProposalOut"][];
            next: string | null;
        };
        ProposalSeen: {
            /** Format: date-time */
            at: string;
            body: {
                [key: string]: unknown;
            } | null;
            by: string;
            etag: string;
            id: string;
            now: {
                [key: string]: unknown;
            } | null;
            path: string;
            type: string;
        };
        ProposalSeenPage: {
            items: components["schemas"]["ProposalSeen"][];
            next: string | null;
        };
        QueueStateOut: {
            code: string | null;
            name: string;
            oldestAt: string | null;
            size: number;
            why: string | null;
        };
        RedriveAsked: {
            /** @default false */
            all: boolean;
            code?: string | null;
            ids?: string[] | null;
            limit?: number | null;
            why?: string | null;
        };
        RedrivenOut: {
            duplicate: number;
            failed: number;
            sent: number;
        };
        ReevaluationOut: {
            items: components["schemas"]["ReevaluationRow"][];
        };
        ReevaluationRow: {
            condition: string;
            exceeded: boolean;
            id: string;
            threshold: number;
            value: number | null;
            what: string;
        };
        RefusalOut: {
            code: string;
            reason: string;
            run: string;
            state: string | null;
        };
        ReleasedOut: {
            reason: string;
            /** Format: date-time */
            released_at: string;
            reservation_id: string;
            status: string;
        };
        ReleasedVersionOut: {
            id: string;
            version: number;
        };
        ReleaseReportOut: {
            baseline: number | null;
            name: string;
            ok: boolean;
            replay: {
                [key: string]: unknown;
            } | null;
            simulation: {
                [key: string]: unknown;
            };
            simulation_id: string;
            version: number;
        };
        Remark: {
            /** Format: date-time */
            at: string;
            by: string;
            text: string;
        };
        RemarkAsked: {
            text: string;
        };
        Replayed: {
            of: string;
            run: string;
        };
        ReplayOut: {
            base_fit: number;
            cases: number;
            model_fit: number;
            still: components["schemas"]["StillOut"][];
        };
        ReplyAsked: {
            answer?: {
                [key: string]: unknown;
            } | null;
            key: string;
            proposal?: number | null;
        };
        ReportList: {
            items: components["schemas"]["ReportOut"][];
        };
        ReportOut: {
            body: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            generatedAt: string;
            id: string;
            project: string | null;
            type: string;
        };
        ResolveAsked: {
            node: string;
            value?: unknown;
        };
        RespondAsked: {
            value?: unknown;
        };
        RestingOut: {
            activity: string;
            count: number;
        };
        RetryAccepted: {
            /** @default true */
            accepted: boolean;
            newExecutionId: string | null;
        };
        ReviewAsked: {
            comment?: string | null;
            /** @default 1 */
            confidence: number;
            decision: string;
            instance_id: string;
            node_id: string;
        };
        ReviewOut: {
            data: unknown;
            deadline: string | null;
            id: string;
            instance_id: string;
            node_id: string;
            /** Format: date-time */
            requested_at: string;
            reviewers: string[];
            title: string;
            workflow_id: string;
        };
        ReviewPage: {
            items: components["schemas"]["ReviewOut"][];
            next: string | null;
        };
        ReworkAsked: {
            comment?: string | null;
            version?: number | null;
        };
        ReworkOut: {
            activity: string;
            cases: number;
            repeats: number;
        };
        RollbackAsked: {
            /** @default  */
            reason: string;
            to_version?: string | null;
        };
        RollingAsked: {
            /** @default 1 */
            batch_size: number;
            /** @default 30 */
            interval_minutes: number;
            success_criteria?: components["schemas"]["CriteriaAsked"] | null;
        };
        RolloutAsked: {
            /** @default  */
            environment: string;
            /** @default {} */
            notification: {
                [key: string]: unknown;
            };
            /** @default  */
            reason: string;
            rollback?: components["schemas"]["TakeBackAsked"] | null;
            /** @default {} */
            scope: components["schemas"]["ScopeAsked"];
            /** @default  */
            simulation: string;
            /**
             * @default {
             *       "type": "immediate",
             *       "observe_minutes": 0
             *     }
             */
            strategy: components["schemas"]["StrategyAsked"];
        };
        RuleProblemOut: {
            category: string;
            code: string;
            message: string;
            rule: string;
        };
        RunDeviation: {
            activity: string;
            after: string;
            before: string;
            /** @enum {string} */
            kind: "skipped" | "repeated" | "unknown" | "order" | "missing_end";
            runs: number;
        };
        RunningOut: {
            at: components["schemas"]["RestingOut"][];
            can_move: number;
            cannot: components["schemas"]["CannotMoveOut"][];
            looked_at: number;
            total: number;
        };
        RunOut: {
            active_ms: number;
            attempt_count: number;
            children: components["schemas"]["RunSummary"][];
            definition: components["schemas"]["DefinitionRef"];
            ended_at: string | null;
            facts: number;
            failure: components["schemas"]["FailureOut"] | null;
            firing_count: number;
            firings: components["schemas"]["FiringOut"][];
            id: string;
            input: unknown;
            key: string | null;
            language: string;
            moves: components["schemas"]["MoveOut"][];
            name: string;
            node: string | null;
            older: string | null;
            output: unknown;
            outputs: {
                [key: string]: unknown;
            };
            parent: string | null;
            paused: boolean;
            priority: number;
            result: string | null;
            retries: number;
            /** Format: date-time */
            started_at: string;
            state: string;
            status: string;
            tenant: string;
            title: string;
            tone: string;
            trace_id: string;
            trigger: components["schemas"]["TriggerOut"] | null;
            /** Format: date-time */
            updated_at: string;
            variables: {
                [key: string]: unknown;
            };
            version: number | null;
            waiting: {
                [key: string]: unknown;
            }[];
            warnings: {
                [key: string]: unknown;
            }[];
            why: components["schemas"]["WhyOut"][];
        };
        RunPage: {
            items: components["schemas"]["RunSummary"][];
            next: string | null;
            total: number | null;
        };
        RunSummary: {
            active_ms: number;
            ended_at: string | null;
            id: string;
            key: string | null;
            language: string;
            more_why: number;
            name: string;
            node: string | null;
            parent: string | null;
            priority: number;
            result: string | null;
            /** Format: date-time */
            started_at: string;
            state: string;
            status: string;
            tenant: string;
            title: string;
            tone: string;
            /** Format: date-time */
            updated_at: string;
            version: number | null;
            why: components["schemas"]["WhyOut"] | null;
        };
        SampleOut: {
            completed_at: string | null;
            /** Format: date-time */
            requested_at: string;
            result: unknown;
            sample_id: string;
            status: string;
        };
        ScheduleAsked: {
            [key: string]: unknown;
        };
        ScheduleOut: {
            catch_up: string;
            cron: string;
            last_at: string | null;
            name: string;
            next_at: string | null;
            overlap: string;
            paused: boolean;
            /** @default [] */
            upcoming: string[];
            version: number;
            zone: string;
        };
        SchedulePage: {
            items: components["schemas"]["ScheduleOut"][];
            next: string | null;
        };
        ScopeAsked: {
            line_ids?: string[] | null;
            tenant_ids?: string[] | null;
        };
        SecretAsked: {
            value: string;
        };
        SecretOut: {
            /** Format: date-time */
            at: string;
            name: string;
        };
        SecretPage: {
            items: components["schemas"]["SecretOut"][];
            next: string | null;
        };
        SeenWorkerOut: {
            /** Format: date-time */
            at: string;
            /** Format: date-time */
            since: string;
            worker: string;
        };
        SeriesOfHoursOut: {
            all: components["schemas"]["SeriesOut"];
            /** Format: date-time */
            firstAt: string;
            pieceS: number;
            pipelines: components["schemas"]["SeriesOut"][];
        };
        SeriesOut: {
            code: string | null;
            ended: number[];
            failed: number[];
            running: number[];
            waitedMs: (number | null)[];
            waiting: number[];
        };
        SessionAsked: {
            key?: string | null;
            token?: string | null;
        };
        SessionDiff: {
            diff: string;
            session: string;
        };
        SessionLineOut: {
            at: string | null;
            data: unknown;
            kind: string;
            text: string;
        };
        SessionLogOut: {
            ended: boolean;
            lines: components["schemas"]["SessionLineOut"][];
            next: number;
            stderr: string;
        };
        SetModeAsked: {
            /** @enum {string} */
            mode: "AUTONOMOUS" | "SUPERVISED" | "MANUAL";
            version?: number | null;
        };
        ShortItemOut: {
            candidates: string[];
            due_at: string | null;
            due_then: string | null;
            id: string;
            kind: string;
            node: string;
            /** Format: date-time */
            opened_at: string;
            priority: string;
            run: string;
            run_title: string;
            title: string;
        };
        SignalAsked: {
            /** @default  */
            id: string;
            name: string;
            payload?: unknown;
        };
        SimulateAsked: {
            answers?: {
                [key: string]: unknown;
            } | null;
            due_ms?: number | null;
            input?: unknown;
            /** @default 200 */
            replay: number;
            /** @default 200 */
            runs: number;
            /** @default 0 */
            seed: number;
        };
        SimulatedArtifactOut: {
            id: string;
            type: string;
        };
        SimulatedJudgmentOut: {
            after: string;
            /** Format: date-time */
            at: string;
            before: string | null;
            judgment: string;
            label: string | null;
            line_id: string | null;
            missed: boolean;
            node: string | null;
            run: string | null;
        };
        SimulatedJudgmentPage: {
            items: components["schemas"]["SimulatedJudgmentOut"][];
        };
        SimulationBrief: {
            artifact: components["schemas"]["SimulatedArtifactOut"];
            baseline_version: string | null;
            candidate_version: string | null;
            /** Format: date-time */
            created_at: string;
            document: string;
            mode: string;
            node: string;
            recommendation: string;
            reports: string[];
            run_id: string;
            simulation_id: string;
            since: string | null;
            total_samples: number;
            until: string | null;
        };
        SimulationOut: {
            artifact: components["schemas"]["SimulatedArtifactOut"];
            baseline_version: string | null;
            candidate_version: string | null;
            /** Format: date-time */
            created_at: string;
            document: string;
            mode: string;
            node: string;
            recommendation: string;
            reports: string[];
            result: {
                [key: string]: unknown;
            };
            run_id: string;
            simulation_id: string;
            since: string | null;
            total_samples: number;
            until: string | null;
        };
        SimulationPage: {
            items: components["schemas"]["SimulationBrief"][];
            next: string | null;
        };
        SkipAsked: {
            node: string;
            reason: string;
        };
        SkippedProjectOut: {
            project: string;
            why: string;
        };
        SlowOut: {
            count: number;
            node_type: string;
            p95_ms: number;
        };
        SqsStateOut: {
            consumers: number;
            inFlight: number | null;
            moved: number;
            name: string;
            perSecond: number;
            receiving: boolean;
            waiting: number | null;
        };
        StageBrief: {
            attempt: number;
            completedAt: string | null;
            durationMs: number | null;
            error: components["schemas"]["StageErrorOut"] | null;
            group: number;
            mime: string | null;
            processorType: string;
            retryCount: number;
            sequenceOrder: number;
            size: number | null;
            stageCode: string;
            stageName: string;
            startedAt: string | null;
            status: string | null;
        };
        StageErrorOut: {
            category: string;
            code: string;
            message: string;
        };
        StageExtractionOut: {
            confidence: number | null;
            extractionType: string;
            method: string | null;
            published: boolean;
        };
        StageLogOut: {
            attempt: number;
            completedAt: string | null;
            cost: number | null;
            durationMs: number | null;
            error: components["schemas"]["StageErrorOut"] | null;
            extraction: components["schemas"]["StageExtractionOut"] | null;
            group: number;
            inputRef: string | null;
            mime: string | null;
            output: unknown;
            outputRef: string | null;
            processorType: string;
            retryCount: number;
            sequenceOrder: number;
            size: number | null;
            stageCode: string;
            stageExecutionId: string;
            stageName: string;
            startedAt: string | null;
            status: string | null;
            usage: {
                [key: string]: unknown;
            };
        };
        StageLogPage: {
            items: components["schemas"]["StageLogOut"][];
        };
        StageOut: {
            begins_at: string | null;
            counted: number;
            ends_at: string | null;
            lines: string[] | null;
            metrics: components["schemas"]["MeasuredOut"] | null;
            number: number;
            percent: number;
            status: string;
            total: number;
        };
        Started: {
            id: string;
            status: string;
        };
        StateAgentOut: {
            currentTask: string | null;
            lastUsedAt: string | null;
            status: string;
        };
        StateExecutionOut: {
            pid: number | null;
            pidStartedAt: number | null;
            startedAt: string | null;
            status: string;
            taskId: string;
        };
        StateTaskOut: {
            assignedAgent: string | null;
            progress: number | null;
            startedAt: string | null;
            status: string;
        };
        StatusEditOut: {
            after: string;
            before: string;
            refused: string;
            task: string;
        };
        StepOut: {
            activity_id: string;
            activity_name: string;
            at: string | null;
            branch_index: number | null;
            compensation_action: string;
            compensation_data: unknown;
            error: string | null;
            parallel_group_id: string | null;
            seq: number;
            status: string;
            workitem_id: string | null;
        };
        StillOut: {
            activity: string;
            after: string;
            before: string;
            cases: number;
            kind: string;
            rule: boolean;
            title: string;
        };
        StopAsked: {
            /** @default false */
            now: boolean;
        };
        StrategyAsked: {
            blue_green?: components["schemas"]["BlueGreenAsked"] | null;
            canary?: components["schemas"]["CanaryAsked"] | null;
            /** @default 0 */
            observe_minutes: number;
            rolling?: components["schemas"]["RollingAsked"] | null;
            /**
             * @default immediate
             * @enum {string}
             */
            type: "immediate" | "canary" | "blue_green" | "rolling";
        };
        StuckOut: {
            count: number;
            query: {
                [key: string]: string;
            };
            run: components["schemas"]["RunSummary"];
            /** Format: date-time */
            since: string;
            why: components["schemas"]["WhyOut"];
        };
        SubmitAsked: {
            change_summary?: string | null;
            document: {
                [key: string]: unknown;
            } | string;
        };
        SubmittedOut: {
            findings: components["schemas"]["FoundOut"][];
            new: boolean;
            version: components["schemas"]["VersionOut"];
        };
        SyncOut: {
            added: string[];
            changed: string[];
            findings: {
                [key: string]: unknown;
            }[];
            migrated: boolean;
            obstacles: string[];
            release: string;
            removed: string[];
            statuses: components["schemas"]["StatusEditOut"][];
        };
        TakeBackAsked: {
            /** @default true */
            auto_rollback: boolean;
            specific_version?: string | number | null;
            /**
             * @default previous
             * @enum {string}
             */
            to_version: "previous" | "specific";
            /** @default {} */
            trigger: components["schemas"]["TriggersAsked"];
        };
        TakenFile: {
            duplicateIds: string[];
            executionIds: string[];
            fileId: number;
        };
        TakeOverAsked: {
            comment?: string | null;
            version?: number | null;
        };
        TaskAgentList: {
            items: components["schemas"]["TaskAgentOut"][];
        };
        TaskAgentOut: {
            command: string;
            currentTask: string | null;
            done: number;
            failed: number;
            lastError: string | null;
            lastUsedAt: string | null;
            name: string;
            pid: number | null;
            preset: string;
            progress: number | null;
            session: string | null;
            silentS: number | null;
            skills: string[];
            status: string;
        };
        TaskAsked: {
            [key: string]: unknown;
        };
        TaskChange: {
            dependsOn: unknown[];
        };
        TaskDependencyOut: {
            id: string;
            optional: boolean;
            removed: boolean;
            resolved: boolean;
            status: string;
            weight: number;
        };
        TaskDetailOut: {
            criteria: components["schemas"]["CriterionOut"][];
            dependents: string[];
            description: string;
            executions: components["schemas"]["TaskExecutionOut"][];
            references: string[];
            skill: string | null;
            task: components["schemas"]["TaskOut"];
            timeoutS: number;
        };
        TaskExecutionList: {
            items: components["schemas"]["TaskExecutionOut"][];
        };
        TaskExecutionOut: {
            agent: string;
            attempt: number;
            branch: string | null;
            code: string | null;
            completedAt: string | null;
            confidence: number | null;
            costUsd: number;
            criteria: components["schemas"]["CriterionOut"][];
            diagnostics: unknown;
            diffStat: components["schemas"]["DiffStatOut"] | null;
            durationMs: number | null;
            error: string | null;
            exitCode: number | null;
            hasDiff: boolean;
            hasLog: boolean;
            killFailed: boolean;
            landlock: boolean | null;
            lastHeartbeatAt: string | null;
            lastLine: string;
            logTail: string;
            matched: string[];
            merge: string;
            pid: number | null;
            pidStartedAt: number | null;
            progress: number;
            resume: boolean;
            session: string;
            startedAt: string | null;
            status: string;
            task: string;
            tokensIn: number;
            tokensOut: number;
            trigger: string;
            worktree: string | null;
        };
        TaskList: {
            items: components["schemas"]["TaskOut"][];
        };
        TaskOut: {
            agent: string | null;
            assignedAgent: string | null;
            attempt: number;
            blockingTasks: string[];
            completedAt: string | null;
            completedByRecovery: boolean;
            confidence: number | null;
            createdAt: string | null;
            criteriaTotal: number;
            dependsOn: components["schemas"]["TaskDependencyOut"][];
            file: string;
            id: string;
            lastError: string | null;
            lastHeartbeatAt: string | null;
            lastLine: string;
            matched: string[];
            maxRetries: number;
            moves: string[];
            nextAttemptAt: string | null;
            priority: number | null;
            progress: number;
            queued: boolean;
            ready: boolean;
            reason: string;
            retryCount: number;
            reviewNotes: string;
            reviewRequired: boolean;
            schedule: string | null;
            session: string | null;
            startedAt: string | null;
            status: string;
            title: string;
            trigger: string;
            updatedAt: string | null;
        };
        TenantAsked: {
            admin: string;
            id: string;
            /** @default  */
            name: string;
        };
        TenantMade: {
            id: string;
            keys: number;
            name: string;
            token: string | null;
            users: number;
        };
        TenantOut: {
            id: string;
            keys: number;
            name: string;
            users: number;
        };
        TenantPage: {
            items: components["schemas"]["TenantOut"][];
            next: string | null;
        };
        Then: {
            kind: string;
            to: string | null;
        };
        ThingOut: {
            /** Format: date-time */
            at: string;
            body: {
                [key: string]: unknown;
            };
            /** @default [] */
            findings: components["schemas"]["FoundOut"][];
            id: string;
            status: string;
            type: string;
            version: string;
        };
        ThingPage: {
            items: components["schemas"]["ThingOut"][];
            next: string | null;
        };
        TileOut: {
            alarm: boolean;
            detail: {
                [key: string]: unknown;
            };
            id: string;
            query: {
                [key: string]: string;
            };
            series: (number | null)[];
            threshold: number | null;
            unit: string;
            value: number | null;
        };
        TokenOut: {
            by: string;
            edge: string;
            envelope: components["schemas"]["EnvelopeOut"];
            epoch: number;
            fate: string;
            scope: string;
            sequence_number: number;
        };
        TokenPage: {
            items: components["schemas"]["TokenOut"][];
            next: string | null;
        };
        TracedExecutionOut: {
            completedAt: string | null;
            /** Format: date-time */
            createdAt: string;
            executionId: string;
            parentExecutionId: string | null;
            pipelineCode: string;
            stages: components["schemas"]["TracedStageOut"][];
            status: string;
        };
        TracedExtractionOut: {
            confidence: number | null;
            executionId: string;
            extractionType: string;
            method: string;
            stageCode: string;
            traceId: string;
        };
        TracedStageOut: {
            completedAt: string | null;
            outputRef: string | null;
            stageCode: string;
            startedAt: string | null;
            status: string | null;
        };
        TraceError: {
            at: string;
            category: string;
            code: string;
            message: string;
            node_id: string | null;
        };
        TraceNode: {
            duration_ms: number | null;
            model: string | null;
            node_id: string;
            retry_count: number;
            status: string;
            tokens_used: number | null;
            type: string;
        };
        TraceOut: {
            span_id: string;
            trace_id: string;
            workflow_execution: components["schemas"]["Execution"];
        };
        TraceTrigger: {
            source: string | null;
            type: string;
        };
        TransitionOut: {
            at: string;
            by: string | null;
            event: string;
            execution: string | null;
            from: string | null;
            node_id: string | null;
            of: string;
            reason: string | null;
            to: string;
        };
        TrialAsked: {
            context?: unknown;
            data: unknown;
            draft?: {
                [key: string]: unknown;
            } | null;
            version?: string | null;
        };
        TrialOut: {
            findings: components["schemas"]["FoundOut"][];
            id: string;
            in_force: components["schemas"]["InForceOut"] | null;
            is_draft: boolean;
            matched: components["schemas"]["MatchedRuleOut"][];
            problem: components["schemas"]["RuleProblemOut"] | null;
            tests: components["schemas"]["OwnTestOut"][];
            tests_left: number;
            verdict: components["schemas"]["TrialVerdictOut"] | null;
            version: string;
        };
        TrialVerdictOut: {
            confidence: number;
            decision: string;
            matched_rules: string[];
            outputs: unknown;
            reasoning: string;
            recommendations: string[];
        };
        Triggered: {
            instance_id: string;
            new: boolean;
        };
        TriggerOut: {
            source: string | null;
            type: string;
        };
        TriggersAsked: {
            anomaly_score?: number | null;
            error_rate?: number | null;
            latency_p99_ms?: number | null;
        };
        TypeWords: {
            icon: string;
            label: string;
        };
        UndoAsked: {
            key?: string | null;
            number: number;
        };
        UsagePage: {
            items: components["schemas"]["DayUsageOut"][];
        };
        UserOut: {
            groups: string[];
            id: string;
            name: string;
            roles: string[];
        };
        Users: {
            items: components["schemas"]["UserOut"][];
        };
        ValidateAsked: {
            dsl: {
                [key: string]: unknown;
            };
        };
        ValidateOut: {
            errors: components["schemas"]["FoundOut"][];
            valid: boolean;
            warnings: components["schemas"]["FoundOut"][];
        };
        VariablesAsked: {
            reason: string;
            set: {
                [key: string]: unknown;
            };
        };
        VariantOut: {
            activities: string[];
            case_ids: string[];
            cases: number;
            deviating: number[];
            fits: boolean | null;
            median_ms: number;
            rank: number;
            share: number;
        };
        VerifiedOut: {
            breaks: components["schemas"]["BreakOut"][];
            entries: number;
            ok: boolean;
        };
        VersionFitOut: {
            deviations: components["schemas"]["RunDeviation"][];
            fitness: number;
            fitting: number;
            runs: number;
            version: number;
        };
        VersionOut: {
            approved_at: string | null;
            approved_by: string | null;
            change_summary: string | null;
            /** Format: date-time */
            created_at: string;
            created_by: string | null;
            deprecated_at: string | null;
            feedback: string | null;
            hash: string;
            id: string;
            name: string;
            status: string;
            version: number;
        };
        VersionPage: {
            items: components["schemas"]["VersionOut"][];
            next: string | null;
        };
        VersionWhole: {
            approved_at: string | null;
            approved_by: string | null;
            change_summary: string | null;
            /** Format: date-time */
            created_at: string;
            created_by: string | null;
            deprecated_at: string | null;
            document: {
                [key: string]: unknown;
            };
            feedback: string | null;
            hash: string;
            id: string;
            moves: string[];
            name: string;
            status: string;
            version: number;
        };
        VoteOut: {
            /** Format: date-time */
            at: string;
            by: string;
            comment: string | null;
            decision: string;
        };
        WaitOut: {
            /** Format: date-time */
            since: string;
            until: string | null;
            why: string;
        };
        WayInOut: {
            count: number;
            trigger: string;
        };
        WaysInNowOut: {
            consumers: number;
            folders: components["schemas"]["FolderStateOut"][];
            perSecond: number;
            sqs: components["schemas"]["SqsStateOut"] | null;
        };
        WayStep: {
            label: string;
            node: string;
            tokens: {
                [key: string]: number;
            };
        };
        Where: {
            /** @default 0 */
            column: number;
            /** @default 0 */
            line: number;
            /** @default  */
            pointer: string;
        };
        WhyOut: {
            attempt: number | null;
            code: string | null;
            kind: string;
            label: string | null;
            message: string | null;
            move: string | null;
            node: string | null;
            of: number | null;
            rank: number;
            run: string | null;
            since: string | null;
            then: components["schemas"]["Then"] | null;
            until: string | null;
            what: string | null;
            /** @default [] */
            who: string[];
        };
        WithToken: {
            lock_token: string;
        };
        WordsOut: {
            languages: {
                [key: string]: components["schemas"]["LanguageWords"];
            };
            locale: string;
        };
        WorkerOut: {
            detail: {
                [key: string]: unknown;
            };
            name: string;
            state: string;
        };
        WorkflowActivated: {
            approved_at: string | null;
            approved_by: string | null;
            change_summary: string | null;
            /** Format: date-time */
            created_at: string;
            created_by: string | null;
            deprecated_at: string | null;
            dsl_hash: string;
            feedback: string | null;
            id: string;
            message: string;
            replayed: string[];
            status: string;
            tenant_id: string;
            version: number;
            workflow_id: string;
        };
        WorkflowAsked: {
            change_summary?: string | null;
            dsl: {
                [key: string]: unknown;
            };
        };
        WorkflowInstanceOut: {
            active_ms: number;
            completed_at: string | null;
            context: {
                [key: string]: unknown;
            };
            error: components["schemas"]["InstanceError"] | null;
            input: unknown;
            instance_id: string;
            nodes: components["schemas"]["NodeExecution"][];
            output: unknown;
            parent_instance_id: string | null;
            /** Format: date-time */
            started_at: string;
            status: string;
            tenant_id: string;
            trigger: components["schemas"]["InstanceTrigger"] | null;
            /** Format: date-time */
            updated_at: string;
            version: number | null;
            workflow_id: string;
        };
        WorkflowInstanceStarted: {
            instance_id: string;
            status: string;
        };
        WorkflowOut: {
            active_version: number | null;
            name: string;
            newest_version: number;
            status: string;
            workflow_id: string;
        };
        WorkflowPage: {
            items: components["schemas"]["WorkflowOut"][];
            next: string | null;
        };
        WorkflowStateOut: {
            agents: {
                [key: string]: components["schemas"]["StateAgentOut"];
            };
            counts: {
                [key: string]: number;
            };
            executions: {
                [key: string]: components["schemas"]["StateExecutionOut"];
            };
            lastSavedAt: string | null;
            maxConcurrent: number;
            moves: string[];
            project: string;
            projectPath: string;
            prompt: boolean;
            run: string | null;
            running: string[];
            schemaVersion: number;
            startedAt: string | null;
            status: string;
            stopping: boolean;
            tasks: {
                [key: string]: components["schemas"]["StateTaskOut"];
            };
            warning: string;
            why: string;
        };
        WorkflowSubmitted: {
            approved_at: string | null;
            approved_by: string | null;
            change_summary: string | null;
            /** Format: date-time */
            created_at: string;
            created_by: string | null;
            deprecated_at: string | null;
            dsl_hash: string;
            feedback: string | null;
            id: string;
            message: string;
            status: string;
            tenant_id: string;
            version: number;
            warnings: components["schemas"]["FoundOut"][];
            workflow_id: string;
        };
        WorkflowVersion: {
            approved_at: string | null;
            approved_by: string | null;
            change_summary: string | null;
            /** Format: date-time */
            created_at: string;
            created_by: string | null;
            deprecated_at: string | null;
            dsl_hash: string;
            feedback: string | null;
            id: string;
            message: string;
            status: string;
            tenant_id: string;
            version: number;
            workflow_id: string;
        };
        WorkflowVersionPage: {
            items: components["schemas"]["WorkflowVersion"][];
            next: string | null;
        };
        WorkflowVersionWhole: {
            approved_at: string | null;
            approved_by: string | null;
            change_summary: string | null;
            /** Format: date-time */
            created_at: string;
            created_by: string | null;
            deprecated_at: string | null;
            dsl: {
                [key: string]: unknown;
            };
            dsl_hash: string;
            feedback: string | null;
            id: string;
            message: string;
            status: string;
            tenant_id: string;
            version: number;
            workflow_id: string;
        };
        WorkitemLine: {
            activity_id: string;
            activity_name: string;
            activity_type: string;
            agent_mode: string;
            assignee: string | null;
            /** Format: date-time */
            created_at: string;
            due_at: string | null;
            id: string;
            priority: string | null;
            proc_def_id: string;
            proc_inst_id: string;
            role: string | null;
            status: string;
            /** Format: date-time */
            updated_at: string;
            version: number;
        };
        WorkitemOut: {
            activity_id: string;
            activity_name: string;
            activity_type: string;
            agent: string | null;
            agent_mode: string;
            agent_task_id: string | null;
            approvers: string[];
            assignee: string | null;
            branch_index: number | null;
            cancel_reason: string | null;
            cancelled_at: string | null;
            compensated_at: string | null;
            completed_at: string | null;
            /** Format: date-time */
            created_at: string;
            data: unknown;
            draft: unknown;
            due_at: string | null;
            error: string | null;
            form: unknown;
            id: string;
            instruction: string;
            parallel_group_id: string | null;
            priority: string | null;
            proc_def_id: string;
            proc_inst_id: string;
            result: unknown;
            role: string | null;
            started_at: string | null;
            status: string;
            submitted_at: string | null;
            version: number;
            visit: number;
        };
        WorkitemPage: {
            items: components["schemas"]["WorkitemLine"][];
            next: string | null;
        };
        WorkItemRejectAsked: {
            approver_id?: string | null;
            comment: string;
            version?: number | null;
        };
        WorkItemStartAsked: {
            version?: number | null;
        };
        WorkItemSubmitAsked: {
            /** @default {} */
            result_data: {
                [key: string]: unknown;
            };
            submitter_id?: string | null;
            version?: number | null;
        };
        WorkItemSubmittedOut: {
            instance_status: string;
            next_nodes: string[];
            status: string;
            version: number;
            workitem_id: string;
        };
        WorkitemWhole: {
            activity_id: string;
            activity_name: string;
            activity_type: string;
            agent: string | null;
            agent_mode: string;
            agent_task_id: string | null;
            approvers: string[];
            assignee: string | null;
            branch_index: number | null;
            cancel_reason: string | null;
            cancelled_at: string | null;
            comments: components["schemas"]["Remark"][];
            compensated_at: string | null;
            completed_at: string | null;
            /** Format: date-time */
            created_at: string;
            data: unknown;
            draft: unknown;
            due_at: string | null;
            error: string | null;
            form: unknown;
            history: components["schemas"]["Passage"][];
            id: string;
            instruction: string;
            parallel_group_id: string | null;
            priority: string | null;
            proc_def_id: string;
            proc_inst_id: string;
            result: unknown;
            role: string | null;
            started_at: string | null;
            status: string;
            submitted_at: string | null;
            transcript: unknown[];
            version: number;
            visit: number;
        };
        WorktreeAsked: {
            /** @enum {string} */
            action: "merge" | "keep" | "discard";
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
